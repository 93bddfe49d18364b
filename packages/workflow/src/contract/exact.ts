/*
 * Numbers in JSON texts that a JavaScript number can't represent: integers beyond 2^53 that would be rounded, and
 * numbers beyond the maximum.
 */
import { maxJsonDepth } from "./json.ts";
import { isRecord } from "./show.ts";

const token = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g;
/** Matches every JSON text with a number that would be rounded, and some other JSON texts. */
const candidate = /\d{16}|[eE]\+?\d{3}/;

/** Returns whether parsing changes a number: it is an integer whose digits change, or out of range. */
export function isRounded(text: string): boolean {
  const number = Number(text);
  if (!Number.isFinite(number)) return true;
  if (Number.isSafeInteger(number) || !/^[-+]?\d+$/.test(text)) return false;
  return significant(text) !== significant(String(number));
}

/** Strips leading and trailing zeros from the digits of an integer. */
const significant = (text: string): string =>
  text
    .replace(/e.*$/, "")
    .replace(/\D/g, "")
    .replace(/^0+|0+$/g, "");

/** Yields the numbers of a JSON text that parsing would round, each with its offset. */
export function* allRounded(json: string): Generator<{ text: string; offset: number }> {
  if (!candidate.test(json)) return;
  for (const { 0: text, index: offset } of json.matchAll(token)) {
    if (!text.startsWith('"') && isRounded(text)) yield { text, offset };
  }
}

/** Returns the first number of a JSON text that parsing would round; null without such a number. */
export const roundedIn = (json: string): { text: string; offset: number } | null =>
  allRounded(json).next().value ?? null;

/**
 * Parses JSON. `long` converts the text of each number that parsing would round; by default, the value is the text.
 *
 * @throws SyntaxError
 */
export function parseExact(
  json: string,
  long: (text: string) => unknown = (text) => text,
): unknown {
  const value: unknown = JSON.parse(json);
  const rounded = [...allRounded(json)];
  if (rounded.length === 0) return value;
  const mark = crypto.randomUUID();
  let marked = "";
  let end = 0;
  for (const [index, { text, offset }] of rounded.entries()) {
    marked += `${json.slice(end, offset)}"${mark}${index}"`;
    end = offset + text.length;
  }
  return JSON.parse(marked + json.slice(end), (_, one: unknown) => {
    if (typeof one !== "string" || !one.startsWith(mark)) return one;
    return long(rounded[Number(one.slice(mark.length))]?.text ?? "");
  });
}

/**
 * Returns a number that `JSON.stringify` writes with the digits of its text; rounded on a runtime without
 * `JSON.rawJSON`.
 */
export const rawNumber = (text: string): unknown => raw.rawJSON?.(text) ?? Number(text);

/** Returns whether a value comes from {@link rawNumber}. */
export const isRawNumber = (value: unknown): boolean => raw.isRawJSON?.(value) ?? false;

// Node 20 has neither function.
const raw = JSON as unknown as {
  rawJSON?: (text: string) => unknown;
  isRawJSON?: (value: unknown) => boolean;
};

const literals: ReadonlySet<string> = new Set(["true", "false", "null"]);

/**
 * Parses a text that is the exact form of a JSON value: an object, an array, a boolean, null, or a number as
 * `JSON.stringify` writes it. Returns null for any other text, such as a string in quotes, `007`, `1.0`, an integer
 * above 2^53, or an object with a duplicate key.
 */
export function exactJson(text: string): { value: unknown } | null {
  const trimmed = text.trim();
  const isNested = trimmed.startsWith("{") || trimmed.startsWith("[");
  const isScalar = literals.has(trimmed) || String(Number(trimmed)) === trimmed;
  return isNested || isScalar ? losslessJson(trimmed) : null;
}

/** Parses JSON; null when the text is invalid, has a number that parsing would round, or has a duplicate key. */
export function losslessJson(text: string): { value: unknown } | null {
  let depth = 0;
  let keys = 0;
  // Check the depth first: JSON.parse recurses for each level.
  for (const [part, colon] of text.matchAll(
    /"[^"\\]*(?:\\.[^"\\]*)*"(\s*:)?|[[\]{}]|-?[0-9][0-9.eE+-]*/g,
  )) {
    if (part === "[" || part === "{") depth += 1;
    else if (part === "]" || part === "}") depth -= 1;
    else if (colon !== undefined) keys += 1;
    else if (!part.startsWith('"') && !isHeld(part)) return null;
    if (depth > maxJsonDepth) return null;
  }
  try {
    const value: unknown = JSON.parse(text);
    return keysIn(value) === keys ? { value } : null;
  } catch {
    return null;
  }
}

function isHeld(text: string): boolean {
  const number = Number(text);
  if (/[eE]/.test(text) || !Number.isInteger(number)) return Number.isFinite(number);
  return Number.isSafeInteger(number);
}

function keysIn(value: unknown): number {
  if (Array.isArray(value)) return value.reduce((sum: number, one) => sum + keysIn(one), 0);
  if (!isRecord(value)) return 0;
  const own = Object.values(value);
  return own.reduce((sum: number, one) => sum + keysIn(one), own.length);
}
