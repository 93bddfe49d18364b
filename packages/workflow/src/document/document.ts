import { readJson } from "./json.ts";
import { type DocumentPath, type Read, Unreadable } from "./text.ts";
import { readYaml } from "./yaml.ts";
import { documentInvalid } from "./errors.ts";

/** Maximum length of a text in characters. The YAML library takes seconds for longer texts. */
const longest = { JSON: 10 * 1024 * 1024, YAML: 2 * 1024 * 1024 };

/** A position in a text. Lines and columns count from 1; a column is one UTF-16 code unit, as in editors. */
export type Position = { line: number; column: number };

/** The value of a text, and the position of each of its parts. */
export type ReadDocument = { document: unknown; positionOf: (path: DocumentPath) => Position };

/**
 * Parses a document: YAML when `file` ends in `.yaml` or `.yml`, else JSON. Does not check the content. For a path that
 * does not exist, `positionOf` returns the position of the nearest existing parent.
 *
 * @throws WorkflowError with `code`, and a message of the form `file:line:column: problem`.
 */
export function readDocument(text: string, file: string, code = "DOCUMENT_INVALID"): ReadDocument {
  const kind = /\.ya?ml$/i.test(file) ? "YAML" : "JSON";
  const positionAt = positionsIn(text);
  try {
    const { value, offsetOf } = parsed(text, kind);
    return { document: value, positionOf: (path) => positionAt(offsetOf(path)) };
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    const { line, column } = positionAt(error.offset);
    const first = error.first === undefined ? null : positionAt(error.first);
    const earlier = first ? `, first in line ${first.line}, column ${first.column}` : "";
    throw documentInvalid(code, `${file}:${line}:${column}`, `${error.message}${earlier}`, kind);
  }
}

/** A problem of the part of a document at `path`. */
export type DocumentProblem = { path: DocumentPath; message: string };

/** Formats problems as `file:line:column: message`, in the order of the text. */
export function locatedProblems(
  problems: readonly DocumentProblem[],
  file: string,
  positionOf: ReadDocument["positionOf"],
): string[] {
  return problems
    .map(({ path, message }) => ({ ...positionOf(path), message }))
    .toSorted((one, other) => one.line - other.line || one.column - other.column)
    .map(({ line, column, message }) => `${file}:${line}:${column}: ${message}`);
}

function parsed(text: string, kind: keyof typeof longest): Read {
  if (text.length > longest[kind]) {
    const limit = `${longest[kind] / 1024 / 1024} Mi characters`;
    throw new Unreadable(0, `the file is too large: ${kind} may have at most ${limit}`);
  }
  // Replace a byte order mark by a space, so that offsets stay the same.
  const plain = text.startsWith("\uFEFF") ? ` ${text.slice(1)}` : text;
  if (plain.trim() === "") throw new Unreadable(0, "the file is empty");
  return kind === "YAML" ? readYaml(plain) : readJson(plain);
}

/** Returns a function from offsets to positions. Counts the lines once, at first use. */
function positionsIn(text: string): (offset: number) => Position {
  let starts: number[] | null = null;
  return (offset) => {
    starts ??= [0, ...Array.from(text.matchAll(/\r\n?|\n/g), (end) => end.index + end[0].length)];
    let [low, high] = [0, starts.length - 1];
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if ((starts[middle] ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    return { line: low + 1, column: offset - (starts[low] ?? 0) + 1 };
  };
}
