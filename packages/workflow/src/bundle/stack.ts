import { readFileSync } from "node:fs";
import type { TraceMap } from "@jridgewell/trace-mapping";
import type { AttemptError, ErrorPosition } from "../contract/event.ts";

type Mapping = typeof import("@jridgewell/trace-mapping");

const mostFrames = 30;
const longestText = 200;

/**
 * Rewrites the stacks of errors that a bundle throws: positions in the bundle become positions in the author's
 * sources, and no path of the storage root remains. The source map is read when the first error comes;
 * without one the positions are those in `<hash>.esm.js`.
 */
export class StackMapper {
  readonly #bundlePath: string;
  readonly #mapPath: string;
  readonly #shown: string;
  #map: { tracing: Mapping; map: TraceMap } | null | undefined;

  constructor(paths: { bundle: string; map: string }, hash: string) {
    this.#bundlePath = paths.bundle;
    this.#mapPath = paths.map;
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
    const start = line.indexOf(`${this.#bundlePath}:`);
    const place =
      start < 0 ? null : /^:(\d+):(\d+)/.exec(line.slice(start + this.#bundlePath.length));
    if (!place) return line.replaceAll(this.#bundlePath, this.#shown);
    const [numbers, row, column] = place;
    const found = this.#original(Number(row), Number(column));
    if (found) positions.push(found);
    const shown = found
      ? `${found.file}:${found.line}:${found.column}`
      : `${this.#shown}${numbers}`;
    const before = line.slice(0, start).replace(/file:\/\/$/, "");
    return before + shown + line.slice(start + this.#bundlePath.length + numbers.length);
  }

  #original(line: number, column: number): ErrorPosition | null {
    this.#map ??= this.#load();
    if (this.#map === null) return null;
    const { tracing, map } = this.#map;
    const found = tracing.originalPositionFor(map, { line, column: Math.max(0, column - 1) });
    if (found.source === null) return null;
    const text = tracing.sourceContentFor(map, found.source)?.split("\n")[found.line - 1]?.trim();
    return {
      file: found.source,
      line: found.line,
      column: found.column + 1,
      ...(text && { text: text.slice(0, longestText) }),
    };
  }

  // At once and not as a promise: an attempt's end is recorded before the thread's.
  #load(): { tracing: Mapping; map: TraceMap } | null {
    try {
      const { createRequire } = process.getBuiltinModule("node:module");
      const tracing = createRequire(import.meta.url)("@jridgewell/trace-mapping") as Mapping;
      return { tracing, map: new tracing.TraceMap(readFileSync(this.#mapPath, "utf8")) };
    } catch {
      return null;
    }
  }
}
