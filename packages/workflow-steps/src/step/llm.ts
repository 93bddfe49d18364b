import type { LLMCallbacks, LLMResult, LLMUsage } from "../adapter/adapter.ts";
import { buildErrorMap, LLMError } from "../adapter/error.ts";
import { adapterOf, surroundingsOf, untilAborted } from "./adapter-call.ts";
import type { Call, Called } from "./call.ts";
import { docsOf } from "./docs.ts";
import { formed, formOf } from "./form.ts";
import { paramsOf } from "./llm-params.ts";
import { type Model, modelOf } from "./model.ts";
import { isRecord, plain } from "./plain.ts";

/**
 * Asks a model once. Emits `llm_thinking`, `llm_token` when the step streams, `llm_tool_use` and
 * `llm_tool_result` as they come, then `llm_done`, or `llm_error` for whatever goes wrong; nothing when
 * the run was aborted.
 */
export async function callLLM(call: Call): Promise<Called> {
  const began = performance.now();
  const elapsed = () => Math.round(performance.now() - began);
  const telling = new Telling(call);
  let result: LLMResult | null = null;
  try {
    const chosen = modelOf(call);
    const { registry, inputs, step } = call;
    const form = formOf(inputs.output_config, registry.schemas, step.id);
    const llm = adapterOf(call, "llm");
    const params = paramsOf(call, chosen, form, await docsOf(call));
    telling.isStreaming = params.stream === true;
    const around = surroundingsOf(call);
    const given = await untilAborted(call.signal, () =>
      llm.call(params, telling.onToken, telling.callbacks, around),
    );
    telling.end();
    if (!isRecord(given)) throw new LLMError("internal_error", "the adapter llm gave no result");
    result = { ...given, usage: usageOf(given) };
    const asked = hasToolUse(result) ? null : form;
    const content = formed(plain(result.content, "the model"), asked);
    const latency_ms = elapsed();
    call.emit("llm_done", doneOf(result, chosen, telling.hasToolUse, latency_ms));
    return calledOf(result, content, chosen, latency_ms);
  } catch (error) {
    telling.end();
    call.signal.throwIfAborted();
    const { message, type, code, retryable } = buildErrorMap(error);
    call.emit("llm_error", { error: message, type, code, retryable, latency_ms: elapsed() });
    throw result === null ? error : withSpent(error, result, modelOf(call));
  }
}

const usageOf = ({ usage }: LLMResult): LLMUsage | undefined => {
  const counted = plain(usage, "the model");
  return isRecord(counted) ? (counted as LLMUsage) : undefined;
};

const hasToolUse = ({ tool_calls, tool_use }: LLMResult): boolean =>
  (tool_calls ?? tool_use ?? []).length > 0;

const finishOf = ({ finish_reason, stop_reason }: LLMResult): string | null =>
  finish_reason ?? stop_reason ?? null;

function doneOf(result: LLMResult, { model }: Model, toldToolUse: boolean, latency_ms: number) {
  return {
    latency_ms,
    finish_reason: finishOf(result),
    model: result.model ?? model,
    usage: result.usage ?? null,
    thinking_tokens: result.usage?.thinking_tokens ?? 0,
    has_tool_use: toldToolUse || hasToolUse(result),
  };
}

function calledOf(
  result: LLMResult,
  content: unknown,
  { model, provider }: Model,
  latency_ms: number,
): Called {
  const _meta = {
    provider: provider ?? result.provider ?? null,
    model: result.model ?? model,
    usage: result.usage ?? null,
    latency_ms,
    request_id: result.id ?? null,
    finish_reason: finishOf(result),
    ...(hasToolUse(result) && {
      tool_calls: plain(result.tool_calls ?? result.tool_use, "the model"),
    }),
  };
  return { locals: { _result: content, _meta }, ...spentOf(result, model) };
}

const spentOf = ({ model, usage, cost }: LLMResult, asked: string) => ({
  model: model ?? asked,
  ...(usage && { usage }),
  ...(cost !== undefined && { cost }),
});

/** Lets an error tell what the answer cost that could not be used. */
function withSpent(error: unknown, result: LLMResult, { model }: Model): unknown {
  if (typeof error !== "object" || error === null) return error;
  const value = spentOf(result, model);
  Reflect.defineProperty(error, "spent", { value, configurable: true, writable: true });
  return error;
}

/** Tells what a model says, until the call is over. */
class Telling {
  isStreaming = false;
  hasToolUse = false;
  readonly #emit: Call["emit"];
  readonly #shown: Call["shown"];
  #isOver = false;
  // An adapter may tell each token to both of its callbacks: the first one that it uses is heard.
  #heard: "old" | "new" | null = null;

  constructor({ emit, shown, signal }: Call) {
    this.#shown = shown;
    this.#emit = (type, payload) => {
      if (!this.#isOver && !signal.aborted) emit(type, payload);
    };
  }

  readonly onToken = (delta: string): void => this.#token("old", delta);

  readonly callbacks: LLMCallbacks = {
    onToken: (delta) => this.#token("new", delta),
    onThinking: (delta) => this.#emit("llm_thinking", { delta }),
    onToolUse: ({ id, name, input }) => {
      this.hasToolUse = true;
      this.#emit("llm_tool_use", { tool_use_id: id, name, input: this.#shown(input) });
    },
    onToolResult: ({ tool_use_id, content, is_error = false }) => {
      this.#emit("llm_tool_result", { tool_use_id, content: this.#shown(content), is_error });
    },
  };

  end(): void {
    this.#isOver = true;
  }

  #token(by: "old" | "new", delta: string): void {
    this.#heard ??= by;
    if (this.isStreaming && this.#heard === by) this.#emit("llm_token", { delta });
  }
}
