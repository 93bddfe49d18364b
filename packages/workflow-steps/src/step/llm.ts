import type {
  LLMCallbacks,
  LLMMessage,
  LLMParams,
  LLMResult,
  LLMTool,
  LLMUsage,
  OutputConfig,
} from "../adapter/adapter.ts";
import { buildErrorMap, LLMError } from "../adapter/error.ts";
import { adapterOf, type Call, type Called, plain, surroundingsOf, untilAborted } from "./call.ts";
import { isPlain } from "../expression/value.ts";
import { formed, formOf } from "./unzip.ts";

/**
 * Asks a model once. Emits `llm_thinking`, `llm_token` when the step streams, `llm_tool_use` and
 * `llm_tool_result` as they come, then `llm_done`, or `llm_error` for whatever goes wrong; nothing when
 * the run was aborted.
 */
export async function callLLM(call: Call): Promise<Called> {
  const began = performance.now();
  const elapsed = () => Math.round(performance.now() - began);
  const answering = new AnswerEvents(call);
  let result: LLMResult | null = null;
  try {
    const chosen = modelOf(call);
    const { registry, inputs, step } = call;
    const form = formOf(inputs.output_config, registry.schemas, step.id);
    const llm = adapterOf(call, "llm");
    const params = paramsOf(call, chosen, form, await docsOf(call));
    answering.isStreaming = params.stream === true;
    const around = surroundingsOf(call);
    const given = await untilAborted(call.signal, () =>
      llm.call(params, answering.onToken, answering.callbacks, around),
    );
    answering.end();
    if (typeof given !== "object" || given === null)
      throw new LLMError("internal_error", "the adapter llm gave no result");
    result = { ...given, usage: usageOf(given) };
    const asked = hasToolUse(result) ? null : form;
    const content = formed(plain(result.content, "the model"), asked);
    const latency_ms = elapsed();
    call.emit("llm_done", doneOf(result, chosen, answering.hasToolUse, latency_ms));
    return calledOf(result, content, chosen, latency_ms);
  } catch (error) {
    answering.end();
    call.signal.throwIfAborted();
    const { message, type, code, retryable } = buildErrorMap(error);
    call.emit("llm_error", { error: message, type, code, retryable, latency_ms: elapsed() });
    throw result === null ? error : withSpent(error, result, modelOf(call));
  }
}

const usageOf = ({ usage }: LLMResult): LLMUsage | undefined => {
  const counted = plain(usage, "the model");
  return isPlain(counted) ? (counted as LLMUsage) : undefined;
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

/** Adds to an error what the answer cost that could not be used. */
function withSpent(error: unknown, result: LLMResult, { model }: Model): unknown {
  if (typeof error !== "object" || error === null) return error;
  const value = spentOf(result, model);
  Reflect.defineProperty(error, "spent", { value, configurable: true, writable: true });
  return error;
}

/** Publishes what a model answers, until the call is over. */
class AnswerEvents {
  isStreaming = false;
  hasToolUse = false;
  readonly #emit: Call["emit"];
  readonly #shown: Call["shown"];
  #isOver = false;
  // An adapter may pass each token to both of its callbacks: the first one that it uses counts.
  #source: "old" | "new" | null = null;

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
    this.#source ??= by;
    if (this.isStreaming && this.#source === by) this.#emit("llm_token", { delta });
  }
}

/** The keys of an LLM step's `in` that are the call's own; all others are its inputs. */
const callKeys = new Set(
  `model provider system messages prompt stream tools docs output_config max_tokens temperature
   thinking`.split(/\s+/),
);

/**
 * What a model is asked, from a step's `in`: `prompt` is one user message, and with neither `messages`
 * nor `prompt` the step's other inputs are, as JSON.
 *
 * @param docs The text of the step's documents; it is put before `system`.
 * @throws LLMError `bad_request` for a field that is not of its kind.
 */
function paramsOf(
  call: Call,
  { model, provider }: Model,
  form: OutputConfig | null,
  docs: string,
): LLMParams {
  const { inputs, step } = call;
  const { max_tokens, temperature, thinking } = inputs;
  const rest = Object.fromEntries(Object.entries(inputs).filter(([name]) => !callKeys.has(name)));
  const system = [docs, textOf(call, "system")].filter(Boolean).join("\n\n");
  const tools = listOf(call, "tools");
  const ids = listOf(call, "docs") as number[] | undefined;
  const stream = (inputs.stream ?? call.value(step.stream)) === true;
  return {
    model,
    ...(provider !== undefined && { provider }),
    ...(system !== "" && { system }),
    messages: messagesOf(call, rest),
    stream,
    ...(tools && { tools: tools.map((one) => toolOf(one, step.id)) }),
    ...(ids && { docs: ids }),
    ...(form && { output_config: form }),
    ...(isGiven(max_tokens) && { max_tokens: numberOf(call, "max_tokens") }),
    ...(isGiven(temperature) && { temperature: numberOf(call, "temperature") }),
    ...(isGiven(thinking) && { thinking }),
    ...(Object.keys(rest).length > 0 && { inputs: rest }),
  };
}

const isGiven = (value: unknown): boolean => value !== undefined && value !== null;

function messagesOf(call: Call, rest: Record<string, unknown>): LLMMessage[] {
  const given = listOf(call, "messages");
  const messages = (given ?? []).map((one): LLMMessage => {
    if (isPlain(one) && typeof one.role === "string" && isGiven(one.content)) {
      return one as LLMMessage;
    }
    throw bad(call, "has a message without a role or content");
  });
  if ("prompt" in call.inputs) return [...messages, { role: "user", content: promptOf(call) }];
  if (given) {
    if (messages.length > 0) return messages;
    throw bad(call, "has no messages in its list of messages");
  }
  return [{ role: "user", content: JSON.stringify(rest) }];
}

function promptOf(call: Call): string {
  const { prompt } = call.inputs;
  const text = typeof prompt === "string" ? prompt : (JSON.stringify(prompt) ?? "null");
  if (isGiven(prompt) && text.trim() !== "") return text;
  throw bad(call, "has an empty prompt");
}

function textOf(call: Call, name: string): string {
  const text = call.inputs[name] ?? "";
  return typeof text === "string" ? text : JSON.stringify(text);
}

function listOf({ inputs, step }: Call, name: string): unknown[] | undefined {
  const list = inputs[name];
  if (!isGiven(list)) return undefined;
  if (Array.isArray(list)) return list;
  throw badParams(`${step.id}: its ${name} are no list`);
}

function numberOf({ inputs, step }: Call, name: string): number {
  const number = inputs[name];
  if (typeof number === "number" && Number.isFinite(number)) return number;
  throw badParams(`${step.id}: its ${name} is no number`);
}

/** A tool may be named by its name alone. */
function toolOf(tool: unknown, id: string): LLMTool {
  if (typeof tool === "string" && tool !== "") return { name: tool };
  if (isPlain(tool) && typeof tool.name === "string") return tool as LLMTool;
  throw badParams(`${id}: one of its tools has no name`);
}

const bad = ({ step }: Call, what: string): LLMError => badParams(`${step.id} ${what}`);

const badParams = (message: string): LLMError =>
  new LLMError("bad_request", message, { code: "BAD_PARAMS" });

/** Which model is asked, and whose it is, as far as that is messages. */
type Model = { model: string; provider?: string };

const defaultModel = "claude-opus-4-6";

/**
 * The model of a step: `model` in `in` or on the step, which may name its provider (`openai/gpt-5`);
 * without one `<PROVIDER>_MODEL` when a provider is named, then `LLM_MODEL`, then `claude-opus-4-6`.
 *
 * @throws LLMError `bad_request` when `model` or `provider` is empty or no text.
 */
function modelOf({ step, inputs, value, env }: Call): Model {
  const provider = nameOf("provider", inputs.provider ?? value(step.provider), step.id);
  const named = nameOf("model", inputs.model ?? value(step.model), step.id);
  const own = provider === null ? "" : env[`${provider.toUpperCase().replace(/\W/g, "_")}_MODEL`];
  const model = named ?? (own || env.LLM_MODEL || defaultModel);
  return provider === null ? split(model, step.id) : { model, provider };
}

function nameOf(field: string, given: unknown, id: string): string | null {
  if (given === undefined || given === null) return null;
  if (typeof given === "string" && given.trim() !== "") return given.trim();
  const found = typeof given === "string" ? "empty" : `no text but ${typeof given}`;
  throw badModel(`${id}: its ${field} is ${found}`);
}

function split(model: string, id: string): Model {
  const at = model.indexOf("/");
  if (at < 0) return { model };
  const [provider, name] = [model.slice(0, at).trim(), model.slice(at + 1).trim()];
  if (provider !== "" && name !== "") return { model: name, provider };
  throw badModel(`${id}: its model ${JSON.stringify(model)} has an empty side`);
}

const badModel = (message: string): LLMError =>
  new LLMError("bad_request", message, { code: "BAD_MODEL" });

/**
 * The documents of a step as one text, each under its title; none without any.
 *
 * @throws WorkflowError `NO_ADAPTER`; LLMError `bad_request` for a document that is not there.
 */
async function docsOf(call: Call): Promise<string> {
  const { docs } = call.inputs;
  if (!Array.isArray(docs) || docs.length === 0) return "";
  const ids = docs as (number | string)[];
  const adapter = adapterOf(call, "doc");
  const found = await untilAborted(call.signal, () => adapter.get(ids));
  const known = new Map(found.map((doc) => [String(doc.id), doc]));
  const lost = ids.filter((id) => !known.has(String(id)));
  if (lost.length > 0) {
    const message = `${call.step.id}: there is no document ${lost.join(", ")}`;
    throw new LLMError("bad_request", message, { code: "DOC_MISSING" });
  }
  const texts = ids.map((id) => known.get(String(id)));
  return texts.map((doc) => `# ${doc?.title ?? ""}\n\n${doc?.text ?? ""}`).join("\n\n");
}
