import { WorkflowError } from "@uncaged/workflow";
import type { Operator } from "./parse.ts";

const decimal = /^\s*[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\s*$/;

/** Whether a value counts as true: false are `false`, 0, NaN, `""`, `"false"`, null and undefined. */
export const toBool = (value: unknown): boolean => Boolean(value) && value !== "false";

/** A value as a number: numbers and numeric texts are themselves, `true` is 1, all else 0. */
export function toFloat(value: unknown): number {
  if (value === true) return 1;
  const number = numberIn(value);
  return number === undefined || Number.isNaN(number) ? 0 : number;
}

/** The number that a number or a numeric text (decimal, finite) is; undefined for all else. */
function numberIn(value: unknown): number | undefined {
  if (typeof value === "number") return value;
  if (typeof value !== "string" || !decimal.test(value)) return undefined;
  const number = Number(value);
  return Number.isFinite(number) ? number : undefined;
}

/**
 * A value as text, as `+` and print use it: texts are themselves, objects and arrays their JSON, null,
 * undefined and what has no JSON are "". `space` is that of `JSON.stringify`.
 *
 * Throws a TypeError for an object that has no JSON, such as a cyclic one.
 */
export function toText(value: unknown, space?: number): string {
  if (typeof value === "string") return value;
  if (value === null || value === undefined) return "";
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  // Its type hides that a function or a symbol has no JSON.
  const json = JSON.stringify(value, null, space) as string | undefined;
  return json ?? "";
}

// So many comparisons are made before one looks out for cycles.
const unguarded = 100_000;

/**
 * Whether two values are the same by value, as their JSON would be: null and undefined are the same,
 * and so are a key with undefined and no key; the order of keys has no meaning. Cycles do no harm.
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

/** Opens the parts of two objects for comparison; false when their shapes differ. */
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

/** Whether a value is an object as JSON has it: no array, and of no class. */
export function isPlain(value: unknown): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** Ends an evaluation with an error at the operator's place. */
export type Fail = (message: string, hint: string, cause?: unknown) => never;

/** What an operator makes of its two sides. */
type Operation = (left: unknown, right: unknown, fail: Fail) => unknown;

/** The operators that always look at both sides. */
export const operations: Readonly<Record<Exclude<Operator, "&&" | "||">, Operation>> = {
  "==": (left, right) => equal(left, right),
  "!=": (left, right) => !equal(left, right),
  "<": (left, right) => ordered(left, right, (a, b) => a < b),
  "<=": (left, right) => ordered(left, right, (a, b) => a <= b),
  ">": (left, right) => ordered(left, right, (a, b) => a > b),
  ">=": (left, right) => ordered(left, right, (a, b) => a >= b),
  "+": (left, right, fail) =>
    typeof left === "string" || typeof right === "string"
      ? textFor(left, fail) + textFor(right, fail)
      : finite(numberFor(left, fail) + numberFor(right, fail), fail),
  "-": (left, right, fail) => finite(numberFor(left, fail) - numberFor(right, fail), fail),
  "*": (left, right, fail) => finite(numberFor(left, fail) * numberFor(right, fail), fail),
  "/": (left, right, fail) => {
    const divisor = numberFor(right, fail);
    if (divisor === 0)
      fail("a division by zero", "test the divisor first, as in $n > 0 && $a / $n");
    return finite(numberFor(left, fail) / divisor, fail);
  },
};

/** The value with the other sign. */
export const negative = (value: unknown, fail: Fail): number => 0 - numberFor(value, fail);

function equal(left: unknown, right: unknown): boolean {
  if (typeof left === "number" && typeof right === "string") return isDecimalOf(left, right);
  if (typeof left === "string" && typeof right === "number") return isDecimalOf(right, left);
  return sameValue(left, right);
}

const isDecimalOf = (number: number, text: string): boolean =>
  Number.isFinite(number) && String(number) === text;

function ordered(
  left: unknown,
  right: unknown,
  test: (a: number | string, b: number | string) => boolean,
): boolean {
  if (typeof left === "string" && typeof right === "string") return test(left, right);
  const a = typeof left === "boolean" ? Number(left) : numberIn(left);
  const b = typeof right === "boolean" ? Number(right) : numberIn(right);
  return a !== undefined && b !== undefined && test(a, b);
}

function numberFor(value: unknown, fail: Fail): number {
  if (typeof value === "number") return value;
  if (value === null || value === undefined) return 0;
  if (typeof value === "boolean") return Number(value);
  const number = numberIn(value);
  if (number !== undefined) return number;
  return fail(
    `${kindOf(value)} is no number`,
    "- * / take numbers and numeric texts; + joins when a side is a text",
  );
}

function kindOf(value: unknown): string {
  if (typeof value === "string") {
    const part = value.length > 40 ? `${value.slice(0, 40)}…` : value;
    return `the text ${JSON.stringify(part.toWellFormed())}`;
  }
  if (Array.isArray(value)) return "an array";
  return isPlain(value) ? "an object" : `a value of type ${typeof value}`;
}

/** Adds 0, for -0 would become 0 in JSON. */
function finite(value: number, fail: Fail): number {
  if (Number.isFinite(value)) return value + 0;
  return fail("the result is no finite number", "keep numbers below 1e308");
}

function textFor(value: unknown, fail: Fail): string {
  try {
    return toText(value);
  } catch (error) {
    return fail("a value has no JSON", "join texts, numbers and values that JSON can hold", error);
  }
}

const shownLength = 60;

/** What is wrong with an expression, where (an offset into its text), and what to do. */
export type ExpressionProblem = { message: string; offset: number; hint: string };

/**
 * An expression that can't be read (`EXPRESSION_INVALID`) or has no value (`EXPRESSION_FAILED`). Its
 * message shows the expression, shortened around the place.
 */
export class ExpressionError extends WorkflowError {
  /** The whole expression, without the leading `=`. */
  readonly source: string;
  /** Where in `source`, in UTF-16 units from 0. */
  readonly offset: number;

  constructor(
    code: "EXPRESSION_INVALID" | "EXPRESSION_FAILED",
    source: string,
    { message, offset, hint }: ExpressionProblem,
    cause?: unknown,
  ) {
    const text = `expression ${shown(source, offset)}, offset ${offset}: ${message}`;
    super({ code, kind: "failed", message: text, hint }, cause === undefined ? {} : { cause });
    this.name = "ExpressionError";
    this.source = source;
    this.offset = offset;
  }
}

function shown(source: string, offset: number): string {
  const end = Math.min(source.length, Math.max(offset + shownLength / 2, shownLength));
  const start = Math.max(0, Math.min(offset, end) - shownLength);
  const part = source.slice(start, end).toWellFormed();
  return JSON.stringify(`${start > 0 ? "…" : ""}${part}${end < source.length ? "…" : ""}`);
}

const deepest = 1000;

/**
 * A deep copy of arrays and plain objects, each leaf as `leaf` makes it. A value of a class is kept as
 * it is. Throws a `WorkflowError` (`VALUE_TOO_DEEP`) over 1,000 levels, which is also what a cycle has.
 */
export function mapped(value: unknown, leaf: (value: unknown) => unknown, depth = 0): unknown {
  if (depth > deepest) throw tooDeep();
  if (Array.isArray(value)) return value.map((item) => mapped(item, leaf, depth + 1));
  if (!isPlain(value)) return leaf(value);
  // fromEntries defines what it is given: a key `__proto__` stays a key.
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, mapped(item, leaf, depth + 1)]),
  );
}

/** A deep copy of a value, as {@link mapped} makes it. */
export const copyOf = (value: unknown): unknown => mapped(value, (leaf) => leaf);

const tooDeep = () =>
  new WorkflowError({
    code: "VALUE_TOO_DEEP",
    kind: "failed",
    message: `a value has more than ${deepest} levels, or contains itself`,
    hint: "use values that JSON can hold, less deeply nested",
  });
