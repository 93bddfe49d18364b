import { maxJsonDepth } from "./json.ts";
import { isRecord } from "./show.ts";

const literals: ReadonlySet<string> = new Set(["true", "false", "null"]);

/**
 * The JSON value that a text says exactly: an object, an array, a boolean, null, or a number as JSON writes it. Returns
 * null for any other text, also for a string in quotes, `007`, `1.0`, an integer above 2^53, or an object with a key twice.
 */
export function exactJson(text: string): { value: unknown } | null {
  const trimmed = text.trim();
  const isNested = trimmed.startsWith("{") || trimmed.startsWith("[");
  const isScalar = literals.has(trimmed) || String(Number(trimmed)) === trimmed;
  return isNested || isScalar ? losslessJson(trimmed) : null;
}

/** The value of a JSON text; null where it is not JSON, or has a number or a key twice that the value can't hold. */
export function losslessJson(text: string): { value: unknown } | null {
  let depth = 0;
  let keys = 0;
  // JSON.parse calls itself for each level.
  for (const [token, colon] of text.matchAll(
    /"[^"\\]*(?:\\.[^"\\]*)*"(\s*:)?|[[\]{}]|-?[0-9][0-9.eE+-]*/g,
  )) {
    if (token === "[" || token === "{") depth += 1;
    else if (token === "]" || token === "}") depth -= 1;
    else if (colon !== undefined) keys += 1;
    else if (!token.startsWith('"') && !isHeld(token)) return null;
    if (depth > maxJsonDepth) return null;
  }
  try {
    const value: unknown = JSON.parse(text);
    return keysIn(value) === keys ? { value } : null;
  } catch {
    return null;
  }
}

function isHeld(token: string): boolean {
  const number = Number(token);
  if (/[eE]/.test(token) || !Number.isInteger(number)) return Number.isFinite(number);
  return Number.isSafeInteger(number);
}

function keysIn(value: unknown): number {
  if (Array.isArray(value)) return value.reduce((sum: number, one) => sum + keysIn(one), 0);
  if (!isRecord(value)) return 0;
  const own = Object.values(value);
  return own.reduce((sum: number, one) => sum + keysIn(one), own.length);
}
