import type { AgentOutputItem, ModelRequest, ModelResponse } from "@openai/agents";
import type { Usage } from "@uncaged/workflow";
import type { RecordedCall, StepCalls } from "../recorded-call/calls.ts";
import { openPayment, type Payment } from "../recorded-call/payment.ts";
import { isObject } from "../run/error.ts";
import { publish } from "../run/run.ts";
import { isApproval, publishTool, textsOf } from "./items.ts";

/** One model call in a step, which is found in the journal, or is made and recorded. */
export class ModelTurn {
  readonly #call: RecordedCall;
  readonly #name: string;
  readonly #request: ModelRequest;
  #payment: Payment | null = null;
  #isOver = false;

  private constructor(call: RecordedCall, name: string, request: ModelRequest) {
    this.#call = call;
    this.#name = name;
    this.#request = request;
  }

  static async open(calls: StepCalls, name: string, request: ModelRequest): Promise<ModelTurn> {
    const call = await calls.open("model", contentOf(name, request));
    return new ModelTurn(call, name, request);
  }

  /** The recorded answer, with its usage as plain data, or null if the model must be called. */
  get found(): ModelResponse | null {
    return this.#call.found && (this.#call.found.value as ModelResponse);
  }

  /** Runs a part of the call, with the request reduced to the thread's limits. An error ends the call. */
  async run<T>(work: (request: ModelRequest) => Promise<T>): Promise<T> {
    return await this.#call.within(async () => {
      try {
        this.#payment ??= await this.#pay();
        const { modelSettings } = this.#request;
        const { maxOutput: maxTokens } = this.#payment;
        const bound = maxTokens === undefined ? {} : { maxTokens };
        return await work({ ...this.#request, modelSettings: { ...modelSettings, ...bound } });
      } catch (error) {
        await this.#end(error);
        throw error;
      }
    });
  }

  token(delta: string): void {
    this.#call.within(() => publish("llm_token", { delta }));
  }

  /** Counts and records the answer. The answer is durable when the promise resolves. */
  async done(response: ModelResponse): Promise<void> {
    if (this.#isOver) return;
    this.#isOver = true;
    await this.#call.within(async () => {
      const model = modelOf(response) ?? (this.#name || "unknown");
      const paid = this.#payment?.whole(model, usageOf(response.usage)) ?? [];
      const isLast = !response.output.some(isPending);
      await this.#call.done({ value: response, isLast, paid });
    });
  }

  /** Publishes the answer as the events that model agents publish. The text of a stream is already published. */
  report(output: readonly AgentOutputItem[], { isStreamed = false } = {}): void {
    const handoffs = new Set(this.#request.handoffs.map(({ toolName }) => toolName));
    this.#call.within(() => {
      for (const item of output) {
        if (item.type === "reasoning") {
          for (const { text } of item.content) publish("llm_thinking", { delta: text });
        } else if (item.type === "message" && !isStreamed) {
          for (const delta of textsOf(item)) publish("llm_token", { delta });
        } else if (item.type === "function_call" && handoffs.has(item.name)) {
          publishTool(item.callId, item.name, item.arguments, "handed off");
        } else if (item.type === "hosted_tool_call" && !isApproval(item)) {
          publishTool(item.id ?? "", item.name, item.arguments, item.output ?? "");
        }
      }
    });
  }

  /** Ends a call that broke off. */
  async close(): Promise<void> {
    await this.#call.within(() => this.#end(null));
  }

  async #pay(): Promise<Payment> {
    const { systemInstructions, input, tools, handoffs, outputType, modelSettings, signal } =
      this.#request;
    return await openPayment({
      model: this.#name || "unknown",
      input: { systemInstructions, input, tools, handoffs, outputType },
      maxOutput: modelSettings.maxTokens,
      signal,
    });
  }

  async #end(error: unknown): Promise<void> {
    if (this.#isOver) return;
    this.#isOver = true;
    // Services do not charge for requests that they decline.
    if (isObject(error) && typeof error.status === "number") this.#payment?.free();
    else this.#payment?.broken();
    await this.#call.failed();
  }
}

/**
 * Returns whether the run continues after an item, because the item is a call that the SDK runs or that needs an
 * approval.
 */
const isPending = (item: AgentOutputItem): boolean =>
  item.type === "hosted_tool_call" ? isApproval(item) : (item.type ?? "").endsWith("_call");

/**
 * Returns the content that identifies a request, without the settings for retries and tracing, which do not affect the
 * answer.
 */
function contentOf(name: string, request: ModelRequest): unknown {
  const { signal: _, tracing: __, modelSettings, ...rest } = request;
  const { retry: ___, timeoutMs: ____, ...settings } = modelSettings;
  const asked = { ...rest, _internal: undefined };
  return { name, ...asked, modelSettings: settings };
}

/** Returns the name of the model that answered, or null if the service does not report it. */
function modelOf({ providerData }: ModelResponse): string | null {
  return typeof providerData?.model === "string" ? providerData.model : null;
}

const sumOf = (details: unknown, name: string): number =>
  [details]
    .flat()
    .map((one) => (isObject(one) && typeof one[name] === "number" ? one[name] : 0))
    .reduce((sum, one) => sum + one, 0);

/** Returns the usage in the ledger's format, or null if the service did not report it. */
function usageOf(usage: ModelResponse["usage"]): Usage | null {
  const { inputTokens, outputTokens, inputTokensDetails, outputTokensDetails } = usage;
  if (inputTokens === 0 && outputTokens === 0) return null;
  const read = sumOf(inputTokensDetails, "cached_tokens");
  const write = sumOf(inputTokensDetails, "cache_write_tokens");
  return {
    input_tokens: Math.max(0, inputTokens - read - write),
    output_tokens: outputTokens,
    thinking_tokens: sumOf(outputTokensDetails, "reasoning_tokens"),
    cache_read_tokens: read,
    cache_write_tokens: write,
  };
}
