import { isObject } from "../run/error.ts";

/*
 * Reads JSON that another program sent. The types of an SDK are not checked at runtime, so any field may be absent,
 * null or of another type. Unreadable content causes an error that names the field. Objects are never converted to
 * text.
 */

export type Fields = Record<string, unknown>;

/**
 * Thrown for content that cannot be read as text. `message` names the field and its value. The caller adds the sender.
 */
export class UnreadableContent extends Error {
  constructor(field: string, problem: string) {
    super(`${field} ${problem}`);
    this.name = "UnreadableContent";
  }
}

/** The text in a message's content, by kind. */
export type Said = { text: string; thinking: string; refusal: string };

const textTypes = new Set<unknown>(["text", "output_text", "input_text", "summary_text"]);
const thinkingTypes = new Set<unknown>(["thinking", "reasoning", "reasoning_text"]);
/** Types of parts without text for the answer: sources of a quote, encrypted thinking. */
const silentTypes = new Set<unknown>(["reference", "redacted_thinking"]);
const deepest = 8;

/**
 * Returns the text in content: a string, a part (`{type: "text", text}`), or a list of both. Null and undefined are
 * empty.
 *
 * @throws UnreadableContent for any other value, including a part of an unknown type.
 */
export function saidIn(content: unknown, field: string): Said {
  const said: Said = { text: "", thinking: "", refusal: "" };
  if (content !== null && content !== undefined) read(content, "text", field, said);
  return said;
}

function read(content: unknown, to: keyof Said, field: string, said: Said, depth = 0): void {
  if (typeof content === "string") {
    said[to] += content;
  } else if (Array.isArray(content) && depth < deepest) {
    for (const part of content) read(part, to, field, said, depth + 1);
  } else if (isObject(content) && depth < deepest) {
    readPart(content, to, field, said, depth + 1);
  } else {
    throw notText(field, content);
  }
}

function readPart(part: Fields, to: keyof Said, field: string, said: Said, depth: number): void {
  const { type, text, thinking, refusal, content } = part;
  if (silentTypes.has(type)) return;
  if (type === "refusal") return read(refusal, "refusal", `${field}.refusal`, said, depth);
  if (thinkingTypes.has(type)) {
    const inner = thinking ?? text ?? content ?? part.summary;
    return read(inner, "thinking", `${field}.thinking`, said, depth);
  }
  if (type !== undefined && type !== null && !textTypes.has(type)) {
    throw new UnreadableContent(field, `has a part of type ${shownType(type)}`);
  }
  if (text !== undefined) return read(text, to, `${field}.text`, said, depth);
  if (content !== undefined) return read(content, to, `${field}.content`, said, depth);
  if (refusal !== undefined) return read(refusal, "refusal", `${field}.refusal`, said, depth);
  throw new UnreadableContent(field, "has a part without text");
}

/**
 * Returns the text of content without a refusal. Omits thinking.
 * @throws UnreadableContent
 */
export function textOfContent(content: unknown, field: string): string {
  const { text, refusal } = saidIn(content, field);
  if (refusal === "") return text;
  throw new UnreadableContent(field, "has a refusal");
}

/** Reads thinking. Omits unreadable parts, because thinking is not part of an answer. */
export function thoughtIn(content: unknown): string {
  try {
    const { text, thinking } = saidIn(content, "thinking");
    return text + thinking;
  } catch {
    return "";
  }
}

/**
 * Returns JSON text, or the text of an object that was sent instead.
 * @throws UnreadableContent
 */
export function jsonTextIn(value: unknown, field: string): string {
  if (typeof value === "string") return value;
  if (value === null || value === undefined) return "";
  if (isObject(value)) return JSON.stringify(value);
  throw notText(field, value);
}

/**
 * Returns an object's fields. Null and undefined have no fields.
 * @throws UnreadableContent
 */
export function fieldsIn(value: unknown, field: string): Fields {
  if (value === null || value === undefined) return {};
  if (isObject(value)) return value;
  throw new UnreadableContent(field, `is ${kindOf(value)}, not an object`);
}

/**
 * Returns a list. Null and undefined are an empty list.
 * @throws UnreadableContent
 */
export function listIn(value: unknown, field: string): unknown[] {
  if (value === null || value === undefined) return [];
  if (Array.isArray(value)) return value as unknown[];
  throw new UnreadableContent(field, `is ${kindOf(value)}, not a list`);
}

/**
 * Returns the parts of a message's content, which may be a text instead.
 * @throws UnreadableContent
 */
export const partsIn = (value: unknown, field: string): unknown[] =>
  typeof value === "string" ? [{ type: "text", text: value }] : listIn(value, field);

/**
 * Returns a name that the other program gave.
 * @throws UnreadableContent for a missing or empty name.
 */
export function nameIn(value: unknown, field: string): string {
  if (typeof value === "string" && value !== "") return value;
  throw new UnreadableContent(field, value === "" ? "is empty" : `is ${kindOf(value)}, not text`);
}

/** Returns a list index. @throws UnreadableContent for any other value. */
export function indexIn(value: unknown, field: string): number {
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= 0) return value;
  throw new UnreadableContent(field, `is ${kindOf(value)}, not an index`);
}

/** Returns a string unchanged, and "" for other values. */
export const wordIn = (value: unknown): string => (typeof value === "string" ? value : "");

/** Returns the reason why an answer ended, or null if it is missing or invalid. */
export const reasonIn = (value: unknown): string | null =>
  value === null || value === undefined || typeof value === "string"
    ? (value ?? null)
    : kindOf(value);

// No call has more tokens, so a larger count is invalid.
const mostCounted = 1e9;

/** Returns a count, or `otherwise` for invalid values. */
export const countIn = (value: unknown, otherwise = 0): number =>
  typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= mostCounted
    ? value
    : otherwise;

/** Returns the kind of a value for an error message. */
export function kindOf(value: unknown): string {
  if (value === undefined) return "missing";
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

const notText = (field: string, value: unknown): UnreadableContent =>
  new UnreadableContent(field, `is ${kindOf(value)}, not text`);

const shownType = (type: unknown): string =>
  typeof type === "string" ? JSON.stringify(type.slice(0, 40)) : kindOf(type);
