import { problemIn } from "../expression/expression.ts";
import { remembered } from "../expression/remembered.ts";
import { refusedSegment, targetError } from "./error.ts";

/** A piece of a target: a literal text, or an expression whose value takes its place. */
export type Part = { text: string } | { expression: string };

/** One step into a value: a key (`.key`, `.user_{_item.id}`), or what an expression in `[…]` gives. */
export type Segment = { kind: "key"; parts: Part[] } | { kind: "index"; expression: string };

/**
 * Where a value is written: into a declared variable, `$name` with a path, or to a file, `/path`.
 * `source` is the text of the target.
 */
export type Target =
  | { kind: "variable"; source: string; name: string; segments: Segment[] }
  | { kind: "file"; source: string; parts: Part[] };

const longest = 10_000;
const deepest = 100;

const variable = /^\$[$\p{ID_Continue}]+/u;
const literal = /[^.[\]{}\s]+/uy;

/**
 * Reads a target: `$r.a[0].b`, `$a[_index]`, `$m.{_item.id}`, `/out/{_item.name}.md`. In a file's path
 * `[_index]` is the index; other brackets there are plain text.
 *
 * Throws a `WorkflowError` (`TARGET_INVALID`) that quotes the target: for a text of another form, over
 * 10,000 characters or 100 keys, and for a key such as `__proto__`.
 */
export const parseTarget: (text: string) => Target = remembered(read, 1000);

/** The expressions in a target, as they are written. */
export function expressionsIn(target: Target): string[] {
  const parts =
    target.kind === "file"
      ? target.parts
      : target.segments.flatMap((segment) => (segment.kind === "key" ? segment.parts : segment));
  return parts.flatMap((part) => ("expression" in part ? part.expression : []));
}

function read(source: string): Target {
  if (source.length > longest) {
    throw targetError(source, `it has more than ${longest} characters`);
  }
  if (source.startsWith("/")) return fileTarget(source);
  const name = variable.exec(source)?.[0];
  if (!name) throw targetError(source, "it is neither a $variable nor a /path");
  return { kind: "variable", source, name, segments: segmentsOf(source, name.length) };
}

function fileTarget(source: string): Target {
  const parts: Part[] = [];
  let position = 1;
  for (const found of source.matchAll(/\{|\[_index\]/g)) {
    if (found.index < position) continue;
    pushText(parts, source.slice(position, found.index));
    if (found[0] === "{") {
      const { expression, end } = enclosed(source, found.index, "}");
      parts.push({ expression });
      position = end;
    } else {
      parts.push({ expression: "_index" });
      position = found.index + found[0].length;
    }
  }
  pushText(parts, source.slice(position));
  if (parts.length === 0) throw targetError(source, "the file has no name");
  return { kind: "file", source, parts };
}

function segmentsOf(source: string, start: number): Segment[] {
  const segments: Segment[] = [];
  let position = start;
  while (position < source.length) {
    if (segments.length >= deepest) throw targetError(source, `it has more than ${deepest} keys`);
    if (source[position] === "[") {
      const { expression, end } = enclosed(source, position, "]");
      segments.push({ kind: "index", expression });
      position = end;
    } else if (source[position] === ".") {
      const { parts, end } = keyAt(source, position + 1);
      segments.push({ kind: "key", parts });
      position = end;
    } else {
      const found = JSON.stringify(source.slice(position, position + 10).toWellFormed());
      throw targetError(source, `${found} stands where a .key or an [index] must`);
    }
  }
  return segments;
}

function keyAt(source: string, start: number): { parts: Part[]; end: number } {
  const parts: Part[] = [];
  let position = start;
  for (;;) {
    literal.lastIndex = position;
    const text = literal.exec(source)?.[0];
    if (text) {
      parts.push({ text });
      position += text.length;
    } else if (source[position] === "{") {
      const { expression, end } = enclosed(source, position, "}");
      parts.push({ expression });
      position = end;
    } else {
      break;
    }
  }
  const [only, ...others] = parts;
  if (!only) throw targetError(source, "a key must follow the point");
  if (others.length === 0 && "text" in only && refusedSegment(only.text)) {
    throw targetError(source, `the key ${only.text} is refused`);
  }
  return { parts, end: position };
}

/** The expression between the bracket at `start` and its partner; `end` is behind that. */
function enclosed(
  source: string,
  start: number,
  close: string,
): { expression: string; end: number } {
  const last = partnerOf(source, start, close);
  if (last === -1) throw targetError(source, `the "${source[start]}" has no "${close}"`);
  const expression = source.slice(start + 1, last);
  const problem = problemIn(expression);
  if (problem)
    throw targetError(source, `offset ${start + 1 + problem.offset}: ${problem.message}`);
  return { expression, end: last + 1 };
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

function pushText(parts: Part[], text: string): void {
  if (text) parts.push({ text });
}
