import type { AttemptError, ErrorPosition } from "../contract/event.ts";
import { SourceMap } from "./source-map.ts";

const mostFrames = 30;

/**
 * Rewrites the stacks of errors that a bundle throws: positions in the bundle become positions in the author's
 * sources, and no path of the storage root remains. The source map is read when the first error comes;
 * without one the positions are those in `<hash>.esm.js`.
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
