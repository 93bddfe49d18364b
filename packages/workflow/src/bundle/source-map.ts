import { join } from "node:path";
import type { TraceMap } from "@jridgewell/trace-mapping";
import type { AttemptError, ErrorPosition } from "../contract/event.ts";
import { readOwnFile } from "../storage/files.ts";
import type { SourcePosition } from "./syntax.ts";

type Tracing = typeof import("@jridgewell/trace-mapping");

const largestMap = 512 * 1024 * 1024;
const longestText = 200;
const mostFrames = 30;

/** From positions in a built bundle to those in the author's sources. It is parsed when it is first asked. */
export class SourceMap {
  readonly text: string;
  readonly #folder: string;
  #parsed: { tracing: Tracing; map: TraceMap } | null | undefined;

  /** @param folder From which it names its sources; "" when nobody knows. */
  constructor(text: string, folder = "") {
    this.text = text;
    this.#folder = folder;
  }

  /** The source map at a path, or null when there is none that can be read. */
  static at(path: string): SourceMap | null {
    try {
      const bytes = readOwnFile(path, largestMap);
      return bytes && new SourceMap(new TextDecoder().decode(bytes));
    } catch {
      return null;
    }
  }

  /** Where a position comes from, and the text of that line; null when the map does not have it. */
  original({ line, column }: SourcePosition): ErrorPosition | null {
    if (this.#parsed === undefined) this.#parsed = this.#parse();
    if (!this.#parsed) return null;
    const { tracing, map } = this.#parsed;
    const found = tracing.originalPositionFor(map, { line, column: Math.max(0, column - 1) });
    if (found.source === null) return null;
    const text = tracing.sourceContentFor(map, found.source)?.split("\n")[found.line - 1]?.trim();
    const file = join(this.#folder, found.source);
    const position = { file, line: found.line, column: found.column + 1 };
    return text ? { ...position, text: text.slice(0, longestText) } : position;
  }

  // At once and not as a promise: an attempt's end is recorded before the thread's.
  #parse(): { tracing: Tracing; map: TraceMap } | null {
    try {
      const { createRequire } = process.getBuiltinModule("node:module");
      const tracing = createRequire(import.meta.url)("@jridgewell/trace-mapping") as Tracing;
      return { tracing, map: new tracing.TraceMap(this.text) };
    } catch {
      return null;
    }
  }
}

/**
 * Rewrites the stacks of errors that a bundle throws to positions in the author's sources, without a source map
 * in `<hash>.esm.js`; no path of the storage root remains. The map is read when the first error comes.
 */
export class StackMapper {
  readonly #paths: { bundle: string; map: string };
  readonly #shown: string;
  #map: SourceMap | null | undefined;

  constructor(paths: { bundle: string; map: string }, hash: string) {
    this.#paths = paths;
    this.#shown = `${hash}.esm.js`;
  }

  /** The error with its stack rewritten, and `at`: the author's line that threw. Never throws. */
  rewrite(error: AttemptError): AttemptError {
    if (error.stack === undefined) return error;
    const positions: ErrorPosition[] = [];
    const lines = error.stack
      .split("\n", mostFrames)
      .map((line) => this.#rewriteLine(line, positions));
    const at = positions.find(({ file }) => !file.includes("node_modules/")) ?? positions[0];
    return { ...error, stack: lines.join("\n"), ...(at && { at }) };
  }

  #rewriteLine(line: string, positions: ErrorPosition[]): string {
    const { bundle, map } = this.#paths;
    const start = line.indexOf(`${bundle}:`);
    const place = start < 0 ? null : /^:(\d+):(\d+)/.exec(line.slice(start + bundle.length));
    if (!place) return line.replaceAll(bundle, this.#shown);
    const [numbers, row, column] = place;
    if (this.#map === undefined) this.#map = SourceMap.at(map);
    const found = this.#map?.original({ line: Number(row), column: Number(column) });
    if (found) positions.push(found);
    const shown = found
      ? `${found.file}:${found.line}:${found.column}`
      : `${this.#shown}${numbers}`;
    const before = line.slice(0, start).replace(/file:\/\/$/, "");
    return before + shown + line.slice(start + bundle.length + numbers.length);
  }
}
