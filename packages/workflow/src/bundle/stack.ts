import { basename } from "node:path";
import type { AttemptError, ErrorPosition } from "../contract/event.ts";
import { readOwnFile } from "../disk/files.ts";
import { bundlePath, mapPath, type Root } from "../disk/paths.ts";
import { type SourcePosition, linesAt, type Original, SourceMap } from "./source-map.ts";
import { maxBundleSize } from "../disk/bundle-files.ts";

const mostFrames = 30;
const frameLine = /^(\s*at )(?:(.*) \()?(.*?):(\d+):(\d+)\)?$/;

/** A line of a stack. `isKept`: its code belongs to the bundle, except runtime code, or to the platform. */
type Frame = { line: string; isKept: boolean; original: Original | null };

/**
 * Rewrites errors of a bundle: maps stacks, the throwing position and function names to the author's sources, by the
 * source map beside the bundle. Without a map, errors refer to the bundle as `<hash>.esm.js`. Removes the bundle's path
 * and lines of this program. Reads the bundle and the map at the first error.
 */
export class StackMapper {
  readonly #paths: { bundle: string; map: string };
  readonly #shown: string;
  #map: SourceMap | null | undefined;
  #code: string | undefined;

  constructor(paths: { bundle: string; map: string }) {
    this.#paths = paths;
    this.#shown = basename(paths.bundle);
  }

  /** Returns the mapper of a stored bundle. */
  static of(root: Root, hash: string): StackMapper {
    return new StackMapper({ bundle: bundlePath(root, hash), map: mapPath(root, hash) });
  }

  /** Rewrites an error with its causes and parts. An error without a position gets the role's position, if known. */
  rewrite(error: AttemptError, role: string | null = null): AttemptError {
    const rewritten = this.#rewriteOne(error);
    const ofRole = rewritten.at || role === null ? null : this.#sourceMap?.ofRole(role);
    return ofRole ? { ...rewritten, at: ofRole } : rewritten;
  }

  #rewriteOne({ stack, cause, errors, ...error }: AttemptError): AttemptError {
    return {
      ...error,
      message: this.#withoutPaths(error.message),
      ...(stack !== undefined && this.#stackOf(stack)),
      ...(cause && { cause: this.#rewriteOne(cause) }),
      ...(errors && { errors: errors.map((part) => this.#rewriteOne(part)) }),
    };
  }

  #stackOf(stack: string): Pick<AttemptError, "stack" | "at"> {
    const all = stack.split("\n", mostFrames).map((line) => this.#frameOf(line));
    const last = all.findLastIndex(({ original, isKept }) => original !== null && isKept);
    if (last < 0) return {};
    const positions = all.flatMap(({ original }) => original ?? []);
    const { at } =
      positions.find(({ origin }) => origin === "author") ??
      positions.find(({ origin }) => origin === "package") ??
      {};
    const kept = all.slice(0, last + 1).filter(({ isKept }) => isKept);
    return { stack: kept.map(({ line }) => line).join("\n"), ...(at && { at }) };
  }

  #frameOf(line: string): Frame {
    const [, head, name, location = "", row, column] = frameLine.exec(line) ?? [];
    if (head === undefined) {
      return { line: this.#withoutPaths(line), isKept: true, original: null };
    }
    const isBundle = location === this.#paths.bundle || location.endsWith(`/${this.#shown}`);
    if (!isBundle) return { line, isKept: !/[/\\]/.test(location), original: null };
    const position = { line: Number(row), column: Number(column) };
    const original = this.#sourceMap?.original(position) ?? this.#unmapped(position);
    const { file, line: at, column: from } = original.at;
    const shown = `${file}:${at}:${from}`;
    const called = name === undefined ? null : this.#originalName(name, position);
    const text = called === null ? `${head}${shown}` : `${head}${called} (${shown})`;
    return { line: text, isKept: original.origin !== "runtime", original };
  }

  #unmapped(position: SourcePosition): Original {
    const at: ErrorPosition = { file: this.#shown, ...position };
    const origin = this.#sourceMap ? "package" : "author";
    return { at: { ...at, ...linesAt(this.#bundle, position) }, origin };
  }

  /** Replaces a minified name, such as `async O`, by the original, `async fetchAll`, if the map has it. */
  #originalName(shown: string, position: SourcePosition): string {
    const map = this.#sourceMap;
    const [, before = "", name] =
      /^((?:async |new )*)([\p{ID_Start}$_][\p{ID_Continue}$]*)$/u.exec(shown) ?? [];
    const defined = map && name ? definition(this.#bundle, name, position) : null;
    return `${before}${(defined && map?.nameAt(defined)) ?? shown.slice(before.length)}`;
  }

  #withoutPaths(text: string): string {
    return text.replaceAll(this.#paths.bundle, this.#shown);
  }

  get #sourceMap(): SourceMap | null {
    if (this.#map === undefined) this.#map = SourceMap.at(this.#paths.map);
    return this.#map;
  }

  get #bundle(): string {
    this.#code ??= textAt(this.#paths.bundle);
    return this.#code;
  }
}

function textAt(path: string): string {
  try {
    return new TextDecoder().decode(readOwnFile(path, maxBundleSize) ?? new Uint8Array());
  } catch {
    return "";
  }
}

const mostTried = 200;

/** Returns the position of the last definition of a function or class `name` before a position; null without one. */
function definition(
  code: string,
  name: string,
  { line, column }: SourcePosition,
): SourcePosition | null {
  let lineStart = 0;
  for (let n = 1; n < line; n += 1) lineStart = code.indexOf("\n", lineStart) + 1;
  let offset = lineStart + column;
  for (let tried = 0; tried < mostTried && offset > 0; tried += 1) {
    offset = code.lastIndexOf(name, offset - 1);
    if (offset < 0) return null;
    if (!isDefinition(code, offset, name.length)) continue;
    const before = code.slice(0, offset);
    const start = before.lastIndexOf("\n") + 1;
    return { line: before.split("\n").length, column: offset - start + 1 };
  }
  return null;
}

function isDefinition(code: string, offset: number, length: number): boolean {
  const before = code.slice(Math.max(0, offset - 20), offset);
  const after = code.slice(offset + length, offset + length + 60);
  if (/(^|[^\w$])(function\s*\*?|class)\s*$/.test(before)) return /^[\s({]/.test(after);
  if (/[\w$.]$/.test(before)) return false;
  return /^\s*=\s*(async\b\s*)?(function\b|class\b|\(|[\w$]+\s*=>)/.test(after);
}
