import { AsyncLocalStorage } from "node:async_hooks";
import { isWorkflowError, type WorkflowError } from "@uncaged/workflow";
import { messageOf, truncated } from "@uncaged/workflow/interpreter";
import { isPart, noteOf, type Part, readPart } from "../content/part.ts";
import { copyOf, threadCopy } from "../run/copy.ts";
import { publish } from "../run/run.ts";
import { callHash } from "./approval.ts";
import type { ToolContext, ToolExecution, ToolRegistry } from "./tools.ts";
import {
  invalidInput,
  notApproved,
  resultNotJson,
  resultTooLarge,
  toolAborted,
  toolFailed,
  toolTimeout,
  unknownOutcome,
  unknownTool,
} from "./errors.ts";

/**
 * The outcome of a tool call. `content` is the text for the model, and `parts` the pictures and documents in it.
 * `toolResult` is the tool's return value, and `output` its field `result`, or the whole value without that field.
 */
export type ToolOutcome =
  | { ok: true; content: string; parts: Part[]; output: unknown; toolResult: unknown }
  | {
      ok: false;
      content: string;
      output: { ok: false; error: string; tool: string };
      error: WorkflowError;
    };

/**
 * The context of a call. `allowError` means that the caller continues after a failure, and only appears in the
 * `tool_error` event.
 */
export type RunToolContext = ToolContext & { allowError?: boolean };

/**
 * Runs one tool of a registry: checks the arguments, applies the timeout, and limits the result. Publishes
 * `tool_start`, any number of `tool_message`, then `tool_done` or `tool_error`. Never rejects. The outcome of a failure
 * has the tool's error, or `TOOL_UNKNOWN`, `TOOL_UNKNOWN_OUTCOME`, `TOOL_NOT_APPROVED`, `TOOL_INPUT`, `TOOL_FAILED`,
 * `TOOL_TIMEOUT`, `TOOL_ABORTED` or `TOOL_RESULT`.
 */
export async function runTool(
  registry: ToolRegistry,
  name: string,
  input: unknown,
  context: RunToolContext,
): Promise<ToolOutcome> {
  const { maxResult } = registry.limits;
  publish("tool_start", { name, input: whole(input), inputSummary: brief(input) });
  try {
    const toolResult = await execute(registry, name, input, context);
    const output = unwrapped(toolResult);
    const shownParts = await shownOf(output, context.cwd);
    const content = limited(shownParts.text, maxResult);
    const { parts } = shownParts;
    refuseTooLarge(content, parts);
    // The conversation has the bytes of parts, but events have only notes.
    const [shownOutput, shownWhole] =
      parts.length > 0 ? [content, content] : [whole(output), whole(toolResult)];
    const results = { output: shownOutput, toolResult: shownWhole };
    publish("tool_done", { name, ...results, outputSummary: brief(content) });
    return { ok: true, content, parts, output, toolResult };
  } catch (thrown) {
    const error = errorOf(name, thrown);
    const { message, code, details = [], hint } = error;
    const content = limited([message, ...details, hint].filter(Boolean).join("\n"), maxResult);
    const output = { ok: false, error: limited(message, maxResult), tool: name } as const;
    publish("tool_error", {
      ...{ name, error: shown(message), code, allowError: context.allowError ?? false },
      ...{ output: shown(output), toolResult: null },
    });
    return { ok: false, content, output, error };
  }
}

// A timer with a longer delay would fire at once.
const longestTimer = 2 ** 31 - 1;

/** Runs a tool within its timeout. Afterwards, aborts the tool's signal, and drops its reports. */
async function execute(
  registry: ToolRegistry,
  name: string,
  given: unknown,
  context: ToolContext,
): Promise<unknown> {
  const tools = await registry.all(context);
  const tool = tools.find((one) => one.name === name);
  if (!tool) {
    const names = tools.map((one) => one.name);
    throw unknownTool(name, names);
  }
  const checked = tool.check(copyOf(given));
  if (!checked.ok) throw invalidInput(name, checked.problem);
  if (tool.idempotent === false && context.wasBegun) throw unknownOutcome(name);
  // The caller should have asked for an approval.
  const { approval } = tool;
  if (approval && context.approved !== callHash(name, given)) {
    const judged = tool.check(copyOf(given));
    if (!judged.ok || (await approval.isNeeded(judged.input))) throw notApproved(name);
  }
  const aborted = toolAborted(name);
  if (context.signal.aborted) throw aborted;
  const ms = Math.min(tool.timeoutMs ?? registry.limits.timeoutMs, longestTimer);
  const over = new AbortController();
  let stop: () => void = () => undefined;
  const stopped = new Promise<never>((_, reject) => {
    const late = setTimeout(() => reject(toolTimeout(name, ms)), ms);
    const abort = () => reject(aborted);
    context.signal.addEventListener("abort", abort);
    stop = () => {
      clearTimeout(late);
      context.signal.removeEventListener("abort", abort);
      over.abort();
    };
  });
  const execution = executionOf(name, context, over.signal);
  try {
    return await Promise.race([(async () => tool.execute(checked.input, execution))(), stopped]);
  } finally {
    stop();
  }
}

function executionOf(name: string, context: ToolContext, signal: AbortSignal): ToolExecution {
  // Reports may come from another async context, such as a connection that several attempts share.
  const inThisAttempt = AsyncLocalStorage.snapshot();
  const report = (level: string, message: string, data: unknown): void => {
    if (signal.aborted) return;
    const payload = { name, level, message: shown(message), data: shown(data) };
    inThisAttempt(() => publish("tool_message", payload));
  };
  const at = (level: string) => (message: string, data?: unknown) => report(level, message, data);
  return {
    ...context,
    env: { ...context.env },
    ...(context.thread && { thread: threadCopy(context.thread) }),
    signal,
    emit: (type, payload = {}) => {
      report(type, typeof payload.message === "string" ? payload.message : type, payload);
    },
    text: at("text"),
    info: at("info"),
    warn: at("warn"),
    error: at("error"),
    progress: at("progress"),
  };
}

function unwrapped(value: unknown): unknown {
  const isEnvelope = typeof value === "object" && value !== null && Object.hasOwn(value, "result");
  return isEnvelope ? (value as { result: unknown }).result : value;
}

function errorOf(name: string, thrown: unknown): WorkflowError {
  if (isWorkflowError(thrown)) return thrown;
  return toolFailed(name, messageOf(thrown), thrown);
}

/**
 * Returns the result of `read`, or null if the result is undefined or `read` throws because of a cycle, a bigint or a
 * getter.
 */
function orNull<T>(read: () => T | undefined): T | null {
  try {
    return read() ?? null;
  } catch {
    return null;
  }
}

const jsonOf = (value: unknown): string | null => orNull(() => JSON.stringify(value));

/** Returns a {@link truncated} value for an event, or null if JSON cannot represent the value. */
const shown = (value: unknown): unknown => orNull(() => truncated(value));

/** Returns a value for an event, or null if JSON cannot represent the value. The recorder of events truncates it. */
export const whole = (value: unknown): unknown =>
  typeof value === "string" || jsonOf(value) !== null ? value : null;

const briefLength = 200;

/** Returns a summary of a value on one line. */
export function brief(value: unknown): string {
  const text = typeof value === "string" ? value : (jsonOf(value) ?? "");
  const line = text
    .slice(0, 4 * briefLength)
    .replace(/\s+/g, " ")
    .trim();
  return line.length > briefLength ? `${cut(line, briefLength - 1)}…` : line;
}

/** Returns a tool's output for a model: the text with a note for each part, and the parts. */
async function shownOf(output: unknown, cwd: string): Promise<{ text: string; parts: Part[] }> {
  const list: unknown[] = Array.isArray(output) ? output : [output];
  if (!list.some(isPart)) return { text: textOf(output), parts: [] };
  const parts: Part[] = [];
  const texts: string[] = [];
  for (const one of list) {
    const part = isPart(one) ? await readPart(one, cwd) : null;
    if (part) parts.push(part);
    texts.push(part ? noteOf(part) : textOf(one));
  }
  return { text: texts.join("\n"), parts };
}

/**
 * Returns a result as text. @throws WorkflowError `TOOL_RESULT` for a value that JSON cannot represent, such as a cycle
 * or a bigint.
 */
function textOf(result: unknown): string {
  if (result === undefined || result === null || result === "") return "(no output)";
  if (typeof result === "string") return result;
  try {
    const json: unknown = JSON.stringify(result);
    if (typeof json === "string") return json;
    throw new TypeError(`the value is a ${typeof result}`);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw resultNotJson(why, cause);
  }
}

const mib = 2 ** 20;
// Maximum size of a result. A record has at most 32 MiB, including other fields.
const largestResult = 31 * mib;
// Maximum number of bytes for a character in JSON.
const mostBytes = 6;

/**
 * Checks the size of a result. @throws WorkflowError `TOOL_RESULT` for a result that is too large to record, because
 * the tool would run again after a crash.
 */
function refuseTooLarge(content: string, parts: readonly Part[]): void {
  const inParts = parts.reduce((sum, { source }) => {
    return sum + ("data" in source ? source.data.length : 0);
  }, 0);
  if (content.length + inParts <= largestResult / mostBytes) return;
  const bytes = Buffer.byteLength(JSON.stringify([content, parts]));
  if (bytes <= largestResult) return;
  throw resultTooLarge((bytes / mib).toFixed(1), largestResult / mib);
}

const limited = (text: string, length: number): string =>
  text.length <= length
    ? text
    : `${cut(text, length)}\n[truncated: the first ${length} of ${text.length} characters]`;

// Returns a copy of the start of a text. A slice would keep the whole text in memory. Does not split a surrogate pair.
function cut(text: string, length: number): string {
  const isHalf = /[\ud800-\udbff]/.test(text.charAt(length - 1));
  const piece = text.slice(0, isHalf ? length - 1 : length);
  return Buffer.from(piece, "utf16le").toString("utf16le");
}
