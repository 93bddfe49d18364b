import { evaluate, problemIn, remembered } from "../expression/expression.ts";
import type { Scope } from "../expression/parse.ts";
import { isPlain } from "../expression/value.ts";
import { badOut, badPath, badTarget, unresolvedTarget } from "./errors.ts";

/** A part of a target: literal text, or an expression, which is replaced by its value. */
type Part = { text: string } | { expression: string };

/** One access inside a value: a key (`.key`, `.user_{_item.id}`), or an expression in `[…]`. */
type Segment = { kind: "key" | "index"; parts: Part[] };

/** The destination of a value: a declared variable (`$name` with a path) or a file (`/path`). */
export type Target =
  | { kind: "variable"; source: string; name: string; segments: Segment[] }
  | { kind: "file"; source: string; parts: Part[] };

const longest = 10_000;
const deepest = 100;

const variable = /^\$[$\p{ID_Continue}]+/u;
const keyText = /[^.[\]{}\s]+/uy;
const fileText = /(?:[^{[]|\[(?!_index\]))+/uy;

/**
 * Parses a target: `$r.a[0].b`, `$a[_index]`, `$m.{_item.id}`, `/out/{_item.name}.md`. In a file's path `[_index]`
 * stands for the index; other brackets are plain text.
 *
 * @throws WorkflowError `TARGET_INVALID`, including for more than 10,000 characters or 100 keys.
 */
export const parseTarget: (text: string) => Target = remembered(read, 1000);

/** Returns the expressions in a target as text. */
export function expressionsIn(target: Target): string[] {
  const parts =
    target.kind === "file" ? target.parts : target.segments.flatMap((segment) => segment.parts);
  return parts.flatMap((part) => ("expression" in part ? part.expression : []));
}

function read(source: string): Target {
  if (source.length > longest) {
    throw badTarget(source, `more than ${longest} characters`);
  }
  if (source.startsWith("/")) {
    const { parts } = partsAt(source, 1, fileText, "{[");
    if (parts.length === 0) throw badTarget(source, "missing name of the file");
    return { kind: "file", source, parts };
  }
  const name = variable.exec(source)?.[0];
  if (!name) throw badTarget(source, "not a $variable or a /path");
  const segments: Segment[] = [];
  let position = name.length;
  while (position < source.length) {
    if (segments.length >= deepest) throw badTarget(source, `more than ${deepest} keys`);
    const { segment, end } = segmentAt(source, position);
    segments.push(segment);
    position = end;
  }
  return { kind: "variable", source, name, segments };
}

function segmentAt(source: string, start: number): { segment: Segment; end: number } {
  if (source[start] === "[") {
    const { part, end } = enclosed(source, start);
    return { segment: { kind: "index", parts: [part] }, end };
  }
  if (source[start] !== ".") {
    const found = JSON.stringify(source.slice(start, start + 10).toWellFormed());
    throw badTarget(source, `expected a .key or an [index], found ${found}`);
  }
  const { parts, end } = partsAt(source, start + 1, keyText, "{");
  const [only, ...others] = parts;
  if (!only) throw badTarget(source, 'missing key after "."');
  if (others.length === 0 && "text" in only && refused.has(only.text)) {
    throw badTarget(source, `the key ${only.text} is not allowed`);
  }
  return { segment: { kind: "key", parts }, end };
}

/** Parses text and placeholders from a position up to the first other character. */
function partsAt(
  source: string,
  start: number,
  literal: RegExp,
  brackets: string,
): { parts: Part[]; end: number } {
  const parts: Part[] = [];
  let position = start;
  while (position < source.length) {
    literal.lastIndex = position;
    const text = literal.exec(source)?.[0];
    if (text === undefined && !brackets.includes(source.charAt(position))) break;
    const { part, end } = text
      ? { part: { text }, end: position + text.length }
      : enclosed(source, position);
    parts.push(part);
    position = end;
  }
  return { parts, end: position };
}

/** Parses the expression between the bracket at `start` and its closing bracket. `end` is the offset after it. */
function enclosed(source: string, start: number): { part: Part; end: number } {
  const close = source[start] === "{" ? "}" : "]";
  const last = partnerOf(source, start, close);
  if (last === -1) throw badTarget(source, `missing closing "${close}"`);
  const expression = source.slice(start + 1, last);
  const problem = problemIn(expression);
  if (problem) {
    throw badTarget(source, `offset ${start + 1 + problem.offset}: ${problem.message}`);
  }
  return { part: { expression }, end: last + 1 };
}

function partnerOf(source: string, start: number, close: string): number {
  const words = /'(?:[^'\\]|\\[^])*'|"(?:[^"\\]|\\[^])*"|[[\]}]/g;
  words.lastIndex = start + 1;
  let depth = 0;
  for (let found = words.exec(source); found; found = words.exec(source)) {
    if (found[0] === close && depth === 0) return found.index;
    if (found[0] === "[") depth += 1;
    if (found[0] === "]") depth -= 1;
  }
  return -1;
}

/**
 * Returns the targets of an `out` with their values. A target without a value gets `=_result`.
 * @throws WorkflowError `OUT_INVALID`
 */
export function outEntries(out: unknown): [target: string, value: unknown][] {
  if (out === undefined || out === null) return [];
  if (typeof out === "string") return [[out, "=_result"]];
  if (typeof out === "object" && !Array.isArray(out)) return Object.entries(out);
  throw badOut(Array.isArray(out) ? "an array" : `a ${typeof out}`);
}

/** A resolved target. A variable's `path` begins with its `$name`; a file's path has no leading slash. */
export type ResolvedTarget =
  | { kind: "variable"; path: [string, ...(string | number)[]] }
  | { kind: "file"; path: string };

/**
 * Resolves a target to its current path. A number in `[…]` is an index, a text is a key.
 *
 * @throws WorkflowError `TARGET_INVALID`, `TARGET_UNRESOLVED`; ExpressionError.
 */
export function resolveTarget(text: string, scope: Scope): ResolvedTarget {
  const target = parseTarget(text);
  if (target.kind === "file") return { kind: "file", path: joined(target.parts, text, scope) };
  const path = target.segments.map(({ kind, parts }) => {
    const key = kind === "key" ? joined(parts, text, scope) : indexFrom(parts, text, scope);
    if (key === prototypeKey) throw unresolvedTarget(text, `the key ${key} is not allowed`);
    return key;
  });
  return { kind: "variable", path: [target.name, ...path] };
}

function indexFrom([part]: readonly Part[], source: string, scope: Scope): string | number {
  const { expression } = part as { expression: string };
  const value = evaluate(expression, scope);
  if (typeof value === "string" && value !== "") return value;
  if (Number.isSafeInteger(value) && Number(value) >= 0) return Number(value);
  throw unresolvedTarget(source, `[${expression}] is ${kindOf(value)}, not an index or a key`);
}

function joined(parts: readonly Part[], source: string, scope: Scope): string {
  const texts = parts.map((part) => {
    if ("text" in part) return part.text;
    const value = evaluate(part.expression, scope);
    if (["string", "number", "boolean"].includes(typeof value)) return String(value);
    throw unresolvedTarget(source, `{${part.expression}} is ${kindOf(value)}`);
  });
  const text = texts.join("");
  if (text === "") throw unresolvedTarget(source, "it is empty");
  return text;
}

function kindOf(value: unknown): string {
  if (value === null || value === undefined) return "missing";
  if (typeof value === "number") return String(value);
  if (typeof value === "string") return "an empty string";
  return Array.isArray(value) ? "an array" : `a value of type ${typeof value}`;
}

/** Assigning to this key replaces an object's prototype. */
const prototypeKey = "__proto__";

/** Keys that targets can't write. Values may still contain the keys `constructor` and `prototype`. */
const refused: ReadonlySet<unknown> = new Set([prototypeKey, "constructor", "prototype"]);

// The largest allowed gap between an array's end and a new index.
const farthest = 1_000_000;
const index = /^(?:0|[1-9]\d{0,14})$/;

type Container = unknown[] | Record<string, unknown>;

/**
 * Returns `root` with a new value at a path. Copies each container on the path and adds the copy to `owned`. Changes
 * containers in `owned` in place, so that appending is cheap. Replaces a null on the path by an array if a number
 * follows, otherwise by an object. Gaps in arrays become null.
 *
 * @throws WorkflowError `PATH_REFUSED`, including for an index more than 1,000,000 beyond an array's end.
 * @example setPath(null, ["a", 0, "b"], 1) // { a: [{ b: 1 }] }
 */
export function setPath(
  root: unknown,
  path: readonly (string | number)[],
  newValue: unknown,
  owned = new WeakSet<object>(),
  depth = 0,
): unknown {
  const segment = path[depth];
  if (segment === undefined) return newValue;
  if (segment === prototypeKey) throw badPath(path, `the key ${segment} is not allowed`);
  const container = containerAt(root, path, depth, owned) as Record<string | number, unknown>;
  const before = Object.hasOwn(container, segment) ? container[segment] : undefined;
  const below = setPath(before, path, newValue, owned, depth + 1);
  owned.add(container);
  if (Array.isArray(container)) {
    const at = indexIn(container, path, depth);
    // Fill holes with null, as JSON does.
    while (container.length < at) container.push(null);
    container[at] = below;
  } else container[segment] = below;
  return container;
}

/** Returns a container for the segment at `depth` of `path`: a copy if it is not owned. */
function containerAt(
  value: unknown,
  path: readonly (string | number)[],
  depth: number,
  owned: WeakSet<object>,
): Container {
  const existing = value ?? (typeof path[depth] === "number" ? [] : {});
  if (Array.isArray(existing)) {
    indexIn(existing, path, depth);
    return owned.has(existing) ? existing : existing.slice();
  }
  if (isPlain(existing)) return owned.has(existing) ? existing : { ...existing };
  const at = depth === 0 ? "the variable" : path.slice(0, depth).join(".");
  throw badPath(path, `${at} is a value of type ${typeof existing}, not an object or an array`);
}

function indexIn(array: unknown[], path: readonly (string | number)[], depth: number): number {
  const segment = path[depth] ?? "";
  const at = typeof segment === "string" && index.test(segment) ? Number(segment) : segment;
  if (typeof at !== "number" || !Number.isSafeInteger(at) || at < 0) {
    throw badPath(path, `${JSON.stringify(segment)} is not an index of an array`);
  }
  if (at <= array.length + farthest) return at;
  throw badPath(path, `the index ${at} is over ${farthest} beyond the array's ${array.length}`);
}
