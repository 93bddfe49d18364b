import { valueTooDeep } from "./errors.ts";

const decimal = /^\s*[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\s*$/;

/** Returns whether a value is truthy. Falsy values are `false`, 0, NaN, `""`, `"false"`, null and undefined. */
export const toBool = (value: unknown): boolean => Boolean(value) && value !== "false";

/** Converts a value to a number. Numbers and numeric texts keep their value, `true` is 1, other values are 0. */
export function toFloat(value: unknown): number {
  if (value === true) return 1;
  const number = numberIn(value);
  return number === undefined || Number.isNaN(number) ? 0 : number;
}

/** Returns the value of a number or a numeric text (decimal, finite); undefined for any other value. */
export function numberIn(value: unknown): number | undefined {
  if (typeof value === "number") return value;
  if (typeof value !== "string" || !decimal.test(value)) return undefined;
  const number = Number(value);
  return Number.isFinite(number) ? number : undefined;
}

/**
 * Converts a value to text for `+` and print. Texts stay as they are, objects and arrays become JSON, and null,
 * undefined, functions and symbols become "". `space` is passed to `JSON.stringify`.
 * @throws TypeError for an object that JSON can't hold, such as a cyclic object.
 */
export function toText(value: unknown, space?: number): string {
  if (typeof value === "string") return value;
  if (value === null || value === undefined) return "";
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  // The declared return type omits undefined, which is the result for functions and symbols.
  const json = JSON.stringify(value, null, space) as string | undefined;
  return json ?? "";
}

// The number of comparisons before `sameValue` tracks cycles.
const unguarded = 100_000;

/**
 * Returns whether two values are equal as JSON. Null equals undefined, a key with undefined equals a missing key, and
 * the order of keys does not matter. Accepts cycles.
 */
export function sameValue(left: unknown, right: unknown): boolean {
  const open: [unknown, unknown][] = [[left, right]];
  const seen = new Map<object, Set<object>>();
  for (let count = 0; ; count += 1) {
    const pair = open.pop();
    if (!pair) return true;
    const [a, b] = pair;
    if (a === b || (a ?? null) === (b ?? null) || (a !== a && b !== b)) continue;
    if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
    if (count > unguarded) {
      const partners = seen.get(a) ?? new Set();
      if (partners.has(b)) continue;
      seen.set(a, partners.add(b));
    }
    if (!pushParts(a, b, open)) return false;
  }
}

function pushParts(a: object, b: object, open: [unknown, unknown][]): boolean {
  if (Object.getPrototypeOf(a) !== Object.getPrototypeOf(b) && !(isPlain(a) && isPlain(b))) {
    return false;
  }
  if (a instanceof Date && b instanceof Date) return a.getTime() === b.getTime();
  if (Array.isArray(a) && Array.isArray(b)) {
    if (a.length !== b.length) return false;
    for (const [index, item] of (a as unknown[]).entries()) open.push([item, b[index]]);
    return true;
  }
  const others = b as Record<string, unknown>;
  let count = 0;
  for (const [key, value] of Object.entries(a)) {
    if (value === undefined) continue;
    if (!Object.hasOwn(others, key) || others[key] === undefined) return false;
    count += 1;
    open.push([value, others[key]]);
  }
  return Object.values(b).filter((value) => value !== undefined).length === count;
}

/** Returns whether a value is a plain object, not an array or a class instance. */
export function isPlain(value: unknown): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** Returns the value of a record's own key; ignores the prototype. */
export const ownValue = <T>(record: Readonly<Record<string, T>>, key: string): T | undefined =>
  Object.hasOwn(record, key) ? record[key] : undefined;

/** Decodes UTF-8. Returns null for invalid bytes. */
export function decoded(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}

const deepest = 1000;

/**
 * Copies arrays and plain objects deeply and maps each leaf with `leaf`. Class instances are leaves. Throws a
 * `WorkflowError` (`VALUE_TOO_DEEP`) beyond 1,000 levels and for a cycle.
 */
export function mapped(value: unknown, leaf: (value: unknown) => unknown, depth = 0): unknown {
  if (depth > deepest) throw valueTooDeep(deepest);
  if (Array.isArray(value)) return value.map((item) => mapped(item, leaf, depth + 1));
  if (!isPlain(value)) return leaf(value);
  // fromEntries defines own properties, even for the key `__proto__`.
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, mapped(item, leaf, depth + 1)]),
  );
}

export const copyOf = (value: unknown): unknown => mapped(value, (leaf) => leaf);
