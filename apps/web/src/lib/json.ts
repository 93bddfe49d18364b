import { roundedIn } from "@uncaged/workflow/records";

type Read<Value> = { value: Value; problem: null } | { value: null; problem: string };

/** Parses JSON that a user typed. The problem names the position. */
export function readJson(text: string): Read<unknown> {
  try {
    const value = JSON.parse(text) as unknown;
    const rounded = roundedIn(text);
    return rounded ? { value: null, problem: inexact(rounded.text) } : { value, problem: null };
  } catch (error) {
    return { value: null, problem: problemOf(text, error) };
  }
}

/** The message about a number that JavaScript would round. */
export const inexact = (text: string): string =>
  `The number ${text} can't be kept exactly: write it as a text.`;

/** Like {@link readJson}, for an object. */
export function readObject(text: string): Read<Record<string, unknown>> {
  const { value, problem } = readJson(text);
  if (isRecord(value)) return { value, problem: null };
  return { value: null, problem: problem ?? "This must be an object: { … }" };
}

/** Maximum number of characters of a formatted value. */
const mostFormatted = 500_000;

/** Maximum depth of a formatted value. Lines of deeper values would be mostly blanks. */
const deepest = 60;

/**
 * A value as formatted JSON. It stays on one line if it has at most `shortest` characters, or is too long or too deep.
 * Null if it is nested too deeply to serialize.
 */
export function formatJson(value: unknown, shortest = 0): string | null {
  try {
    const line = JSON.stringify(value) ?? "undefined";
    const isLine =
      line.length <= shortest || line.length > mostFormatted || depthOf(line) > deepest;
    return isLine ? line : JSON.stringify(value, null, 2);
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}

/** The nesting depth of a JSON text, counted up to the limit. */
function depthOf(json: string): number {
  let depth = 0;
  let most = 0;
  for (const [sign] of json.matchAll(/"(?:[^"\\]+|\\.)*"|[[\]{}]/g)) {
    if (sign === "[" || sign === "{") most = Math.max(most, (depth += 1));
    else if (sign === "]" || sign === "}") depth -= 1;
    if (most > deepest) break;
  }
  return most;
}

export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

// JavaScript engines report the position, the line and column, or neither.
function problemOf(text: string, error: unknown): string {
  if (text.trim() === "") return "Empty: expected JSON.";
  const message = error instanceof Error ? error.message : "";
  const position = /position (\d+)/.exec(message)?.[1];
  const line = /line (\d+)/.exec(message)?.[1];
  if (line !== undefined) return `Invalid JSON in line ${line}.`;
  if (position === undefined) return "Invalid JSON.";
  const before = text.slice(0, Number(position)).split("\n");
  return `Invalid JSON in line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}.`;
}
