import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { messageOf, WorkflowError } from "../contract/error.ts";
import type { Place } from "./syntax.ts";

/** What was thrown while a module was loaded, and where in that module if that can be told. */
export type LoadProblem = { message: string; place: Place | null };

/** A source map's text, and the folder from which it names its sources ("" when nobody knows). */
export type SourceMap = { text: string; folder: string };

/** The message of what an `import` of `path` threw, and the innermost place in `path` of its stack. */
export function loadProblem(thrown: unknown, path: string): LoadProblem {
  try {
    const error =
      thrown instanceof AggregateError ? ((thrown.errors[0] as unknown) ?? thrown) : thrown;
    return { message: messageOf(error), place: syntaxPlace(error) ?? stackPlace(error, path) };
  } catch {
    return { message: messageOf(thrown), place: null };
  }
}

/**
 * A load problem as an error that names the file, line and column: those of the author's own source
 * when there is a source map.
 */
export async function loadFailed(
  problem: LoadProblem,
  file: string,
  map?: SourceMap | null,
): Promise<WorkflowError> {
  const { place, message } = problem;
  const original = place && map ? await originalPlace(map, place) : null;
  const at = original ?? (place ? `${file}:${place.line}:${place.column}` : file);
  return new WorkflowError({
    code: "BUNDLE_LOAD_FAILED",
    kind: "failed",
    message: `${at}: ${message}`,
    hint: "a bundle's top level runs when it is added and whenever it is loaded, without arguments or input: do the work in run",
  });
}

/** The place in the author's source that a place in a built bundle comes from, as `file:line:column`. */
export async function originalPlace(
  map: SourceMap,
  { line, column }: Place,
): Promise<string | null> {
  const { originalPositionFor, TraceMap } = await import("@jridgewell/trace-mapping");
  try {
    const found = originalPositionFor(new TraceMap(map.text), { line, column: column - 1 });
    if (found.source === null) return null;
    return `${join(map.folder, found.source)}:${found.line}:${found.column + 1}`;
  } catch {
    return null;
  }
}

/** The source map at a path, or null when there is none that can be read. */
export const readMap = (path: string): Promise<SourceMap | null> =>
  readFile(path, "utf8").then(
    (text) => ({ text, folder: "" }),
    () => null,
  );

// Bun's own syntax errors (BuildMessage) carry their position.
function syntaxPlace(error: unknown): Place | null {
  if (typeof error !== "object" || error === null || !("position" in error)) return null;
  const position = error.position;
  if (typeof position !== "object" || position === null) return null;
  if (!("line" in position) || !("column" in position)) return null;
  const line = Number(position.line);
  return line > 0 ? { line, column: Math.max(1, Number(position.column)) } : null;
}

function stackPlace(error: unknown, path: string): Place | null {
  const stack = error instanceof Error ? error.stack : undefined;
  if (typeof stack !== "string") return null;
  for (const line of stack.split("\n", 100)) {
    const at = line.lastIndexOf(`${path}:`);
    const numbers = at === -1 ? null : /^(\d+):(\d+)/.exec(line.slice(at + path.length + 1));
    if (numbers) return { line: Number(numbers[1]), column: Number(numbers[2]) };
  }
  return null;
}
