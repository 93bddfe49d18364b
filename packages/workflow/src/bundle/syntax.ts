import { type Export, type Import, parse } from "es-module-lexer";
import type { SourcePosition } from "./source-map.ts";

const scanner = new Bun.Transpiler({ loader: "js" });

/**
 * Returns the names that an ES module exports, with Bun's parser, which checks the syntax of the whole module.
 *
 * @throws BuildMessage, or an AggregateError of BuildMessages, for a syntax error.
 */
export const exportsOf = (source: string): string[] => scanner.scan(source).exports;

/**
 * Returns the imports, each `import()` and the exports of a module without syntax errors, with their offsets.
 * An export whose name is in a pattern is missing: see {@link exportsOf}.
 */
export function lexModule(source: string): {
  imports: readonly Import[];
  exports: readonly Export[];
} {
  // The lexer supports neither a `#!` line nor Unicode's spaces and line ends. Offsets stay the same.
  const plain = source
    .replace(/^#!.*/, (line) => " ".repeat(line.length))
    .replace(/[\u1680\u2000-\u200a\u202f\u205f\u3000\ufeff]/g, " ");
  const [imports, exports] = parseLines(plain);
  return { imports, exports };
}

/** Unicode line ends are valid in strings, where the lexer reports an error for a line end. */
const unicodeLineEnds = /[\u2028\u2029]/g;

function parseLines(source: string): ReturnType<typeof parse> {
  try {
    return parse(source.replace(unicodeLineEnds, "\n"));
  } catch (error) {
    if (!unicodeLineEnds.test(source)) throw error;
    return parse(source.replace(unicodeLineEnds, " "));
  }
}

const lineEnd = /\r\n|[\n\r\u2028\u2029]/;

/** Returns the position of an offset in a source. */
export function positionOf(source: string, offset: number): SourcePosition {
  const lines = source.slice(0, offset).split(lineEnd);
  return { line: lines.length, column: (lines.at(-1)?.length ?? 0) + 1 };
}
