import { truncated, WorkflowError } from "@uncaged/workflow";

const briefLength = 200;

/** A value as an event may hold it: see {@link truncated}; null when it has no JSON. */
export function shown(value: unknown): unknown {
  try {
    return truncated(value) ?? null;
  } catch {
    return null;
  }
}

/** A value as it is, for who records events and cuts it himself; null when it has no JSON. */
export function whole(value: unknown): unknown {
  if (typeof value === "string") return value;
  try {
    return JSON.stringify(value) === undefined ? null : value;
  } catch {
    return null;
  }
}

/** A value in at most 200 characters on one line. */
export function brief(value: unknown): string {
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
export function textOf(result: unknown): string {
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
    throw new WorkflowError({ code: "TOOL_RESULT", kind: "failed", message, hint }, { cause });
  }
}

/** A text of at most `length` characters and, when it was longer, a line that says so. */
export function limited(text: string, length: number): string {
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
