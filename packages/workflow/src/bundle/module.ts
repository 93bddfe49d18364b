import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { WorkflowError, messageOf } from "../contract/error.ts";
import type { SourcePosition } from "./syntax.ts";
import type { Bundle } from "../contract/contract.ts";

/** What was thrown while a module was loaded, and where in that module if that is known. */
export type LoadProblem = { message: string; position: SourcePosition | null };

/** A source map's text, and the folder from which it names its sources ("" when nobody knows). */
export type SourceMap = { text: string; folder: string };

/** The message of what an `import` of `path` threw, and the innermost position in `path` of its stack. */
export function loadProblem(thrown: unknown, path: string): LoadProblem {
  try {
    const error =
      thrown instanceof AggregateError ? ((thrown.errors[0] as unknown) ?? thrown) : thrown;
    return { message: messageOf(error), position: syntaxPlace(error) ?? stackPlace(error, path) };
  } catch {
    return { message: messageOf(thrown), position: null };
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
  const { position, message } = problem;
  const original = position && map ? await originalPosition(map, position) : null;
  const at = original ?? (position ? `${file}:${position.line}:${position.column}` : file);
  return new WorkflowError({
    code: "BUNDLE_LOAD_FAILED",
    message: `${at}: ${message}`,
    hint: "a bundle's top level runs when it is added and whenever it is loaded, without arguments or input: do the work in run",
  });
}

/** The position in the author's source that a position in a built bundle comes from, as `file:line:column`. */
export async function originalPosition(
  map: SourceMap,
  { line, column }: SourcePosition,
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
function syntaxPlace(error: unknown): SourcePosition | null {
  if (typeof error !== "object" || error === null || !("position" in error)) return null;
  const position = error.position;
  if (typeof position !== "object" || position === null) return null;
  if (!("line" in position) || !("column" in position)) return null;
  const line = Number(position.line);
  return line > 0 ? { line, column: Math.max(1, Number(position.column)) } : null;
}

function stackPlace(error: unknown, path: string): SourcePosition | null {
  const stack = error instanceof Error ? error.stack : undefined;
  if (typeof stack !== "string") return null;
  for (const line of stack.split("\n", 100)) {
    const at = line.lastIndexOf(`${path}:`);
    const numbers = at === -1 ? null : /^(\d+):(\d+)/.exec(line.slice(at + path.length + 1));
    if (numbers) return { line: Number(numbers[1]), column: Number(numbers[2]) };
  }
  return null;
}

const asyncGeneratorFunction: unknown = Object.getPrototypeOf(async function* () {});

/**
 * The bundle that a loaded module is: `run` an async generator function, `descriptor` an object,
 * nothing exported as default. The descriptor's inside was checked when the bundle was added.
 *
 * A function that only returns a generator is refused: nothing but a call could show what it gives.
 * @throws WorkflowError `BUNDLE_REFUSED`; its message names no file.
 */
export function toBundle(module: object): Bundle {
  const exported: { run?: unknown; descriptor?: unknown } = module;
  if (!isRun(exported.run)) {
    throw refused(`run is ${describe(exported.run)}, not an async generator function`);
  }
  if (!isObject(exported.descriptor)) {
    throw refused(`descriptor is ${describe(exported.descriptor)}, not an object`);
  }
  if ("default" in module) throw refused(`there must be no default export`);
  return { run: exported.run, descriptor: exported.descriptor };
}

const isRun = (value: unknown): value is Bundle["run"] =>
  typeof value === "function" && Object.getPrototypeOf(value) === asyncGeneratorFunction;

const isObject = (value: unknown): value is Bundle["descriptor"] =>
  typeof value === "object" && value !== null;

function describe(value: unknown): string {
  if (typeof value === "function") {
    const kind: unknown = Object.getPrototypeOf(value)?.[Symbol.toStringTag];
    return typeof kind === "string" ? `a plain ${kind}` : "a plain function";
  }
  if (value === undefined || value === null) return String(value);
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

function refused(message: string): WorkflowError {
  return new WorkflowError({
    code: "BUNDLE_REFUSED",
    message,
    hint: "export async function* run(input, options) and const descriptor; let the bundler keep generators (ES2018 or later)",
  });
}
