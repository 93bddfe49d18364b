import type { LLMCallbacks, LLMMessage, LLMParams, LLMTool, LLMUsage } from "../adapter/adapter.ts";
import { buildErrorMap } from "../adapter/error.ts";
import { modelSides } from "../document/document.ts";
import { isPlain, numberIn, toText } from "../expression/value.ts";
import { formed, formOf } from "./answer.ts";
import { ask, type Call, type Called, plain, typedField } from "./call.ts";
import {
  badDocs,
  documentNotText,
  emptyMessages,
  emptyName,
  emptyPrompt,
  halfModel,
  incompleteMessage,
  nameNotText,
  noDocuments,
  noModelResult,
  unnamedTool,
} from "./errors.ts";

/**
 * Calls a model. Emits `llm_thinking`, `llm_token` (if the step streams), `llm_tool_use` and `llm_tool_result` as they
 * arrive, then `llm_done`, or `llm_error` for any error. Emits nothing after the run is aborted.
 */
export async function callLLM(call: Call): Promise<Called> {
  const began = performance.now();
  const elapsed = () => Math.round(performance.now() - began);
  const { answer, onToken, callbacks } = answerEvents(call);
  let spent: Omit<Called, "locals"> | null = null;
  try {
    const chosen = modelOf(call);
    const form = formOf(call);
    const params: LLMParams = {
      ...chosen,
      ...paramsOf(call, await docsOf(call)),
      ...(form && { output_config: form }),
    };
    answer.isStreaming = params.stream === true;
    const given = await ask(call, "llm", (llm, surroundings) =>
      llm.call(params, onToken, callbacks, surroundings),
    );
    if (typeof given !== "object" || given === null) throw noModelResult();
    // An adapter that does not stream returns its thinking at the end.
    if (given.thinking && !answer.hasThinking) callbacks.onThinking(given.thinking);
    answer.isOver = true;
    const { cost, id = null, provider = null } = given;
    const model = textIn(given.model) ?? chosen.model;
    const finish_reason = textIn(given.finish_reason) ?? textIn(given.stop_reason);
    const counted = plain(given.usage, "the model");
    const usage = isPlain(counted) ? (counted as LLMUsage) : null;
    spent = { model, ...(usage && { usage }), ...(cost !== undefined && { cost }) };
    const toolCalls = [given.tool_calls, given.tool_use].find(Array.isArray) ?? [];
    const hasToolCalls = toolCalls.length > 0;
    const _result = await formed(plain(given.content, "the model"), hasToolCalls ? null : form);
    const counts = { latency_ms: elapsed(), finish_reason, model, usage };
    call.emit("llm_done", {
      ...counts,
      thinking_tokens: numberIn(usage?.thinking_tokens) ?? 0,
      has_tool_use: answer.hasToolUse || hasToolCalls,
    });
    const _meta = {
      ...counts,
      provider: chosen.provider ?? provider,
      request_id: id,
      ...(hasToolCalls && { tool_calls: plain(toolCalls, "the model") }),
    };
    return { locals: { _result, _meta }, ...spent };
  } catch (error) {
    answer.isOver = true;
    call.signal.throwIfAborted();
    const { message, type, code, retryable } = buildErrorMap(error);
    call.emit("llm_error", { error: message, type, code, retryable, latency_ms: elapsed() });
    // An unusable answer also costs money.
    if (spent !== null && typeof error === "object" && error !== null) {
      Reflect.defineProperty(error, "spent", { value: spent, configurable: true, writable: true });
    }
    throw error;
  }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null;

const textIn = (value: unknown): string | null => (typeof value === "string" ? value : null);

/**
 * Publishes a model's stream until the call ends. Drops malformed reports of untyped adapters, so that they can't fail
 * the call.
 */
function answerEvents({ emit, shown, signal }: Call) {
  const answer = { isStreaming: false, hasThinking: false, hasToolUse: false, isOver: false };
  const publish: Call["emit"] = (type, payload) => {
    if (!answer.isOver && !signal.aborted) emit(type, payload);
  };
  // An adapter may pass each token to both callbacks, so only the first used callback counts.
  let source: "old" | "new" | null = null;
  const tokenFrom = (by: "old" | "new") => (delta: unknown) => {
    if (typeof delta !== "string") return;
    source ??= by;
    if (answer.isStreaming && source === by) publish("llm_token", { delta });
  };
  const callbacks: LLMCallbacks = {
    onToken: tokenFrom("new"),
    onThinking: (delta: unknown) => {
      if (typeof delta !== "string") return;
      answer.hasThinking = true;
      publish("llm_thinking", { delta });
    },
    onToolUse: (block: unknown) => {
      if (!isObject(block)) return;
      answer.hasToolUse = true;
      const { id, name, input } = block;
      publish("llm_tool_use", { tool_use_id: id, name, input: shown(input) });
    },
    onToolResult: (block: unknown) => {
      if (!isObject(block)) return;
      const { tool_use_id, content } = block;
      const is_error = block.is_error === true;
      publish("llm_tool_result", { tool_use_id, content: shown(content), is_error });
    },
  };
  return { answer, onToken: tokenFrom("old"), callbacks };
}

/** The keys in an LLM step's `in` that configure the call. All other keys are inputs. */
const callKeys = new Set(
  `model provider system messages prompt stream tools docs output_config max_tokens temperature
   thinking`.split(/\s+/),
);

/**
 * Returns the request to a model from a step's `in`. `prompt` is one user message. Without `messages` and `prompt`, the
 * message is the step's other inputs as JSON. The text of the documents precedes `system`.
 */
function paramsOf(call: Call, documents: string): Omit<LLMParams, "model"> {
  const { inputs, step } = call;
  const rest = Object.fromEntries(Object.entries(inputs).filter(([name]) => !callKeys.has(name)));
  const own = inputs.system ?? "";
  const text = typeof own === "string" ? own : JSON.stringify(own);
  const system = [documents, text].filter(Boolean).join("\n\n");
  const tools = inputField(call, "list", "tools")?.map((tool): LLMTool => {
    if (typeof tool === "string" && tool !== "") return { name: tool };
    if (isPlain(tool) && typeof tool.name === "string") return tool as LLMTool;
    throw unnamedTool(call.step.id);
  });
  const params: Omit<LLMParams, "model"> = {
    system: system || undefined,
    messages: messagesOf(call, rest),
    stream: (inputs.stream ?? call.value(step.stream)) === true,
    tools,
    docs: inputField(call, "list", "docs") as number[] | undefined,
    max_tokens: inputField(call, "number", "max_tokens"),
    temperature: inputField(call, "number", "temperature"),
    thinking: inputs.thinking ?? undefined,
    inputs: Object.keys(rest).length > 0 ? rest : undefined,
  };
  const given = Object.entries(params).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given) as typeof params;
}

const inputField = <Kind extends "list" | "number">(call: Call, kind: Kind, name: string) =>
  typedField(call, kind, name, call.inputs[name] ?? null);

function messagesOf(call: Call, rest: Record<string, unknown>): LLMMessage[] {
  const given = inputField(call, "list", "messages");
  const messages = (given ?? []).map((one): LLMMessage => {
    if (isPlain(one) && typeof one.role === "string" && (one.content ?? null) !== null) {
      return one as LLMMessage;
    }
    throw incompleteMessage(call.step.id);
  });
  if ("prompt" in call.inputs) return [...messages, { role: "user", content: promptOf(call) }];
  if (messages.length > 0) return messages;
  if (given) throw emptyMessages(call.step.id);
  return [{ role: "user", content: JSON.stringify(rest) }];
}

function promptOf(call: Call): string {
  const prompt = call.inputs.prompt ?? "";
  const text = typeof prompt === "string" ? prompt : JSON.stringify(prompt);
  if (text.trim() !== "") return text;
  throw emptyPrompt(call.step.id);
}

const defaultModel = "claude-opus-4-6";

/**
 * Returns a step's model: `model` in `in` or on the step, which may include its provider (`openai/gpt-5`). The default
 * is `<PROVIDER>_MODEL` for a step with a provider, then `LLM_MODEL`, then `claude-opus-4-6`.
 */
function modelOf(call: Call): Pick<LLMParams, "model" | "provider"> {
  const { step, env } = call;
  const provider = nameIn(call, "provider");
  const named = nameIn(call, "model");
  const own = provider === null ? "" : env[`${provider.toUpperCase().replace(/\W/g, "_")}_MODEL`];
  const model = named ?? (own || env.LLM_MODEL || defaultModel);
  if (provider !== null) return { model, provider };
  const sides = modelSides(model);
  if (!sides) return { model };
  if (!sides.includes("")) return { model: sides[1], provider: sides[0] };
  throw halfModel(step.id, model);
}

function nameIn({ inputs, step, value }: Call, field: "model" | "provider"): string | null {
  const given = inputs[field] ?? value(step[field]) ?? null;
  if (given === null) return null;
  if (typeof given === "string" && given.trim() !== "") return given.trim();
  if (typeof given === "string") throw emptyName(step.id, field);
  throw nameNotText(step.id, field, typeof given);
}

/** Returns a step's documents as one text, each under its title. */
async function docsOf(call: Call): Promise<string> {
  const { docs } = call.inputs;
  if (!Array.isArray(docs) || docs.length === 0) return "";
  const isId = (id: unknown): id is number | string =>
    typeof id === "number" || typeof id === "string";
  const ids = docs.filter(isId);
  if (ids.length < docs.length) throw badDocs(call.step.id);
  const found: unknown = await ask(call, "doc", (adapter) => adapter.get(ids));
  const known = new Map(
    (Array.isArray(found) ? found : []).filter(isPlain).map((doc) => [String(doc.id), doc]),
  );
  const lost = ids.filter((id) => !known.has(String(id)));
  if (lost.length > 0) throw noDocuments(call.step.id, lost);
  return ids.map((id) => textOfDoc(call, known.get(String(id)) ?? {})).join("\n\n");
}

function textOfDoc({ step }: Call, doc: { id?: unknown; title?: unknown; text?: unknown }): string {
  const { text = "", title = "" } = doc;
  if (typeof text === "string") return `# ${toText(title)}\n\n${text}`;
  throw documentNotText(step.id, toText(doc.id));
}
