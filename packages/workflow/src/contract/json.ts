import { messageOf } from "./error.ts";
import { isPlainObject, kindOf, show } from "./show.ts";

// Captured before a bundle is loaded: records must not use built-ins that a bundle has replaced (RFC 0021).
const { stringify } = JSON;
const { keys: keysOf } = Object;
const { isArray } = Array;
const { isFinite } = Number;

/** Maximum nesting depth of values; the value itself is the first level. */
export const maxJsonDepth = 1000;
/** Maximum length of a JSON text in characters, equal to the maximum length of a log's record. */
export const maxJsonLength = 64 * 1024 * 1024;

/** A value as JSON text, or the reason why it is not valid JSON, with the path to the cause. */
export type JsonText = { ok: true; json: string } | { ok: false; reason: string };

class Refusal extends Error {}

/** State of the writer: the first `depth` keys and parents lead to the current value; `length` is the length so far. */
type Walk = { keys: (string | number)[]; parents: object[]; depth: number; length: number };

/**
 * Writes a value as JSON, and refuses values that JSON would silently drop or change: functions, symbols, BigInt, NaN,
 * the infinities, `undefined` and holes in arrays, objects that are neither plain nor arrays, cycles, and values that
 * are too deep or too long. As in JSON, properties that are `undefined`, have a symbol as key or can't be listed are
 * left out.
 *
 * Reads each property once and does not call `toJSON`: a getter or a Proxy that returns another value the next time
 * can't put unchecked data into the log. Never throws.
 *
 * @param name Name of the value in the reason: `meta` in `meta.files[2] is a function`.
 */
export function toJson(value: unknown, name: string): JsonText {
  const walk: Walk = { keys: [], parents: [], depth: 0, length: 0 };
  try {
    return { ok: true, json: write(walk, value) };
  } catch (error) {
    const at = showPath(name, walk.keys.slice(0, walk.depth));
    const why = error instanceof Refusal ? error.message : `can't be read: ${messageOf(error)}`;
    return { ok: false, reason: `${at} ${why}` };
  }
}

/**
 * Writes internal data as JSON. Does not call `toJSON`: a bundle runs in its worker's process, and a `toJSON` that it
 * adds to `Object.prototype` must not change a log or an answer.
 */
export function jsonText(data: unknown): string {
  const written = toJson(data, "data");
  return written.ok ? written.json : stringify(data);
}

function write(walk: Walk, value: unknown): string {
  switch (typeof value) {
    case "string":
      if (value.length > maxJsonLength) throw tooLong();
      return counted(walk, stringify(value));
    case "number":
      if (!isFinite(value)) throw new Refusal(`is ${kindOf(value)}`);
      return counted(walk, `${value}`);
    case "boolean":
      return counted(walk, `${value}`);
    case "object":
      return value === null ? counted(walk, "null") : writeNested(walk, value);
    default:
      throw new Refusal(`is ${kindOf(value)}`);
  }
}

function writeNested(walk: Walk, value: object): string {
  if (walk.depth >= maxJsonDepth) throw tooDeep(walk, value);
  walk.parents[walk.depth] = value;
  const json = isArray(value) ? writeArray(walk, value) : writeObject(walk, value);
  walk.length += 2;
  return json;
}

function writeArray(walk: Walk, list: readonly unknown[]): string {
  const { length } = list;
  let json = "";
  for (let i = 0; i < length; i++) {
    enter(walk, i);
    json += (i === 0 ? "" : ",") + write(walk, list[i]);
    walk.length += 1;
    walk.depth -= 1;
  }
  return `[${json}]`;
}

function writeObject(walk: Walk, value: object): string {
  if (!isPlainObject(value)) throw new Refusal(`is ${kindOf(value)}, not a plain object`);
  let json = "";
  for (const key of keysOf(value)) {
    enter(walk, key);
    const item = value[key];
    if (item !== undefined) {
      const label = counted(walk, stringify(key));
      json += `${json === "" ? "" : ","}${label}:${write(walk, item)}`;
      walk.length += 2;
    }
    walk.depth -= 1;
  }
  return `{${json}}`;
}

function enter(walk: Walk, key: string | number): void {
  walk.keys[walk.depth] = key;
  walk.depth += 1;
}

function counted(walk: Walk, piece: string): string {
  walk.length += piece.length;
  if (walk.length > maxJsonLength) throw tooLong();
  return piece;
}

const tooLong = (): Refusal =>
  new Refusal(`makes the JSON longer than ${maxJsonLength / 1024 / 1024} Mi characters`);

/** Returns the refusal of a value at the maximum depth. Cycles are found only here, so other values need no check. */
function tooDeep(walk: Walk, value: object): Refusal {
  const seen = new Set<object>();
  for (const [depth, parent] of [...walk.parents.slice(0, walk.depth), value].entries()) {
    if (seen.has(parent)) {
      walk.depth = depth;
      return new Refusal("contains itself");
    }
    seen.add(parent);
  }
  return new Refusal(`is nested deeper than ${maxJsonDepth} levels`);
}

/** Keys and indices from the root to a position in a JSON value. */
export type JsonPath = readonly (string | number)[];

/** Formats a path: `meta.files[0]["a b"]`. */
export function showPath(name: string, keys: JsonPath): string {
  let path = name;
  for (const key of keys) {
    if (typeof key === "number") path += `[${key}]`;
    else path += /^[\p{L}_$][\p{L}\p{N}_$-]{0,79}$/u.test(key) ? `.${key}` : `[${show(key)}]`;
  }
  return path.length > 200 ? `${path.slice(0, 120)}…${path.slice(-60)}` : path;
}
