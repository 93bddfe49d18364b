import { type Export, type Import, parse } from "es-module-lexer";
import type { SourcePosition } from "./source-map.ts";

const scanner = new Bun.Transpiler({ loader: "js" });

/**
 * Returns the names that an ES module exports. Checks the syntax of the whole module, because it uses Bun's parser.
 *
 * @throws BuildMessage, or an AggregateError of BuildMessages, for a syntax error.
 */
export const exportsOf = (source: string): string[] => scanner.scan(source).exports;

/**
 * Returns the imports, including each `import()`, and the exports of a module without syntax errors, with their
 * offsets. An export from a destructuring pattern is missing: {@link exportsOf} has its name.
 */
export function lexModule(source: string): {
  imports: readonly Import[];
  exports: readonly Export[];
} {
  // The lexer supports neither a `#!` line nor Unicode spaces. The replacements keep all offsets.
  const plain = source
    .replace(/^#!.*/, (line) => " ".repeat(line.length))
    .replace(/[\u1680\u2000-\u200a\u202f\u205f\u3000\ufeff]/g, " ");
  const [imports, exports] = parseLines(plain);
  return { imports, exports };
}

/** Line ends that the lexer does not support. Unlike `\n`, they are valid in string literals. */
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
