import type { ReadAtLoad } from "./inspect.ts";
import type { SourceMap } from "./source-map.ts";
import { lexModule, positionOf } from "./syntax.ts";

const mostWarnings = 20;
const place = /\b__uncaged(Dirname|Filename)\b/g;
const metaPlace = /^import\.meta\.(url|dirname|filename|resolve)\b/;

/** Returns the first 20 distinct warnings, and the number of the others as a last text. */
export function bounded(warnings: readonly string[]): string[] {
  const all = [...new Set(warnings)];
  const rest = all.length - mostWarnings;
  return rest > 0 ? [...all.slice(0, mostWarnings), `and ${rest} more warnings`] : all;
}

/**
 * Returns a warning for each source file that uses its own path, for example to read files beside it: a bundle does not
 * contain these files.
 */
export function fileWarnings(code: string, map: SourceMap): string[] {
  const found = new Map<string, string>();
  const warn = (offset: number, what: string) => {
    const original = map.original(positionOf(code, offset));
    if (original === null || original.origin === "runtime") return;
    const { file, line, column } = original.at;
    if (found.has(file)) return;
    const message = `uses ${what}: files beside it are not in the bundle`;
    found.set(file, `${file}:${line}:${column}: ${message}`);
  };
  for (const { index, 1: name = "" } of code.matchAll(place)) {
    warn(index, `__${name.toLowerCase()}`);
  }
  for (const one of lexModule(code).imports) {
    if (one.type !== "import-meta") continue;
    const text = metaPlace.exec(code.slice(one.importStart, one.importStart + 40))?.[0];
    if (text !== undefined) warn(one.importStart, text);
  }
  return [...found.values()];
}

/**
 * Returns a warning for each read of process state by the author's code, or a function that it calls, at module level.
 */
export function readWarnings(
  reads: readonly ReadAtLoad[],
  map: SourceMap | undefined,
  file: string,
) {
  return reads.flatMap(({ what, positions }) => {
    const places = positions.map((position) =>
      map ? map.original(position) : { at: { ...position, file }, origin: "author" as const },
    );
    const at = places.find((one) => one?.origin === "author")?.at;
    if (!at) return [];
    const message = `${what} is read at module level, where no thread runs: read it in run`;
    return [`${at.file}:${at.line}:${at.column}: ${message}`];
  });
}
