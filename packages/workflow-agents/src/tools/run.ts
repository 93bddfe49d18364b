import { AsyncLocalStorage } from "node:async_hooks";
import { isWorkflowError, truncated, type WorkflowError } from "@uncaged/workflow";
import { failure } from "../run/error.ts";
import { publish } from "../run/run.ts";
import type { ReadyTool, ToolContext, ToolRegistry, ToolExecution } from "./tools.ts";

/**
 * How a tool's run ended. `content` is what a model is shown. `toolResult` is what the tool returned
 * and `output` its `result` when it has one; after an error, `{ok: false, error, tool}`.
 */
export type ToolOutcome =
  | { ok: true; content: string; output: unknown; toolResult: unknown }
  | { ok: false; content: string; output: FailedOutput; error: WorkflowError };

// A longer one would end at once.
const longestTimer = 2 ** 31 - 1;

type FailedOutput = { ok: false; error: string; tool: string };

/** `allowError` only reaches the `tool_error` event: the caller goes on after a failure. */
export type RunToolContext = ToolContext & { allowError?: boolean };

/**
 * Runs one tool of a registry: checks the arguments, gives it its time, and limits what it returned.
 * Publishes `tool_start`, `tool_message`…, then `tool_done` or `tool_error`. Never rejects; the error's
 * code is that of a `WorkflowError` that the tool threw, or one of `TOOL_UNKNOWN`, `TOOL_INPUT`,
 * `TOOL_FAILED`, `TOOL_TIMEOUT`, `TOOL_ABORTED`, `TOOL_RESULT`.
 */
export async function runTool(
  registry: ToolRegistry,
  name: string,
  input: unknown,
  context: RunToolContext,
): Promise<ToolOutcome> {
  publish("tool_start", { name, input: whole(input), inputSummary: brief(input) });
  try {
    const tool = await find(registry, name, context);
    const toolResult = await execute(tool, registry.limits.timeoutMs, input, context);
    const output = unwrapped(toolResult);
    const content = limited(textOf(output), registry.limits.maxResult);
    const results = { output: whole(output), toolResult: whole(toolResult) };
    publish("tool_done", { name, ...results, outputSummary: brief(content) });
    return { ok: true, content, output, toolResult };
  } catch (thrown) {
    return failed(name, errorOf(name, thrown), registry.limits.maxResult, context);
  }
}

async function find(registry: ToolRegistry, name: string, context: ToolContext) {
  const tools = await registry.all(context);
  const found = tools.find((tool) => tool.name === name);
  if (found) return found;
  const names = tools.map((tool) => tool.name).join(", ") || "none";
  throw failure("TOOL_UNKNOWN", `there is no tool ${JSON.stringify(name)}`, `tools: ${names}`);
}

function execute(
  tool: ReadyTool,
  defaultMs: number,
  given: unknown,
  context: ToolContext,
): Promise<unknown> {
  const { name } = tool;
  const checked = tool.check(given);
  if (!checked.ok) {
    const hint = "call it again with arguments that fit its schema";
    throw failure("TOOL_INPUT", `the arguments of ${name} are wrong: ${checked.problem}`, hint);
  }
  const ms = Math.min(tool.timeoutMs ?? defaultMs, longestTimer);
  return new Promise((resolve, reject) => {
    const { runtime, stop } = startRuntime(name, context);
    const over = () => {
      clearTimeout(timer);
      context.signal.removeEventListener("abort", abort);
      stop();
    };
    const abort = () => {
      over();
      reject(failure("TOOL_ABORTED", `the tool ${name} was stopped with its thread`));
    };
    const timer = setTimeout(() => {
      over();
      const hint = "ask for less at once, or in another way";
      reject(failure("TOOL_TIMEOUT", `the tool ${name} was stopped after ${ms} ms`, hint));
    }, ms);
    context.signal.addEventListener("abort", abort);
    if (context.signal.aborted) return abort();
    void (async () => tool.execute(checked.input, runtime))().finally(over).then(resolve, reject);
  });
}

function unwrapped(value: unknown): unknown {
  const isEnvelope = typeof value === "object" && value !== null && Object.hasOwn(value, "result");
  return isEnvelope ? (value as { result: unknown }).result : value;
}

function errorOf(name: string, thrown: unknown): WorkflowError {
  if (isWorkflowError(thrown)) return thrown;
  const message = `the tool ${name} failed: ${messageOf(thrown)}`;
  return failure("TOOL_FAILED", message, undefined, { cause: thrown });
}

function failed(
  name: string,
  error: WorkflowError,
  maxResult: number,
  { allowError = false }: RunToolContext,
): ToolOutcome {
  const text = [error.message, ...(error.details ?? []), error.hint].filter(Boolean).join("\n");
  const content = limited(text, maxResult);
  const output: FailedOutput = { ok: false, error: limited(error.message, maxResult), tool: name };
  publish("tool_error", {
    name,
    error: shown(error.message),
    code: error.code,
    allowError,
    output: shown(output),
    toolResult: null,
  });
  return { ok: false, content, output, error };
}

function messageOf(thrown: unknown): string {
  try {
    return (thrown instanceof Error ? thrown.message || thrown.name : String(thrown)).trim();
  } catch {
    return "it threw a value that can't be shown";
  }
}

/** A tool's runtime, and how to end it: its signal is aborted then, and what it reports is dropped. */
function startRuntime(
  name: string,
  context: ToolContext,
): { runtime: ToolExecution; stop: () => void } {
  const abort = new AbortController();
  // What it reports may come from another async context: a connection that several attempts share.
  const inThisAttempt = AsyncLocalStorage.snapshot();
  const report = (level: string, message: string, data: unknown): void => {
    if (abort.signal.aborted) return;
    const payload = { name, level, message: shown(message), data: shown(data) };
    inThisAttempt(() => publish("tool_message", payload));
  };
  const at = (level: string) => (message: string, data?: unknown) => report(level, message, data);
  const runtime: ToolExecution = {
    ...context,
    signal: abort.signal,
    emit: (type, payload = {}) => {
      report(type, typeof payload.message === "string" ? payload.message : type, payload);
    },
    text: at("text"),
    info: at("info"),
    warn: at("warn"),
    error: at("error"),
    progress: at("progress"),
  };
  return { runtime, stop: () => abort.abort() };
}

const briefLength = 200;

/** A value as an event may hold it: see {@link truncated}; null when it has no JSON. */
function shown(value: unknown): unknown {
  try {
    return truncated(value) ?? null;
  } catch {
    return null;
  }
}

/** A value as it is, for the recorder of events, which truncates it; null when it has no JSON. */
function whole(value: unknown): unknown {
  if (typeof value === "string") return value;
  try {
    return JSON.stringify(value) === undefined ? null : value;
  } catch {
    return null;
  }
}

/** A value in at most 200 characters on one line. */
function brief(value: unknown): string {
  const text = typeof value === "string" ? value : (jsonOf(value) ?? "");
  const line = text
    .slice(0, 4 * briefLength)
    .replace(/\s+/g, " ")
    .trim();
  return line.length > briefLength ? `${cut(line, briefLength - 1)}…` : line;
}

/**
 * A tool's result as text: text as it is, everything else as JSON.
 *
 * @throws WorkflowError `TOOL_RESULT` when it has no JSON: a cycle, a BigInt, a getter that throws.
 */
function textOf(result: unknown): string {
  if (result === undefined || result === null || result === "") return "(no output)";
  if (typeof result === "string") return result;
  try {
    const json: unknown = JSON.stringify(result);
    if (typeof json === "string") return json;
    throw new TypeError(`it is a ${typeof result}`);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    const message = `the tool's result can't be written as JSON: ${why}`;
    const hint = "the tool must return text or plain JSON values";
    throw failure("TOOL_RESULT", message, hint, { cause });
  }
}

/** A text of at most `length` characters and, when it was longer, a line about it. */
function limited(text: string, length: number): string {
  if (text.length <= length) return text;
  return `${cut(text, length)}\n[truncated: the first ${length} of ${text.length} characters]`;
}

// Never between the halves of one character, and a copy: a piece of a text keeps the whole in memory.
function cut(text: string, length: number): string {
  const isHalf = /[\ud800-\udbff]/.test(text.charAt(length - 1));
  const piece = text.slice(0, isHalf ? length - 1 : length);
  return Buffer.from(piece, "utf16le").toString("utf16le");
}

function jsonOf(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}
