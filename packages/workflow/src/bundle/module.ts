import { messageOf, type WorkflowError } from "../contract/error.ts";
import { isRecord, kindOf } from "../contract/show.ts";
import type { SourcePosition, SourceMap } from "./source-map.ts";
import type { Bundle } from "../contract/contract.ts";
import {
  defaultExported,
  descriptorNotObject,
  runNotGenerator,
  runReturnsOther,
  topLevelFailed,
} from "./errors.ts";

/** An error thrown while a module was loaded, and its position in the module if known. */
export type LoadProblem = { message: string; position: SourcePosition | null };

/** Describes an error thrown by the `import` of `path`, with the innermost position of its stack in `path`. */
export function loadProblem(thrown: unknown, path: string): LoadProblem {
  try {
    const error =
      thrown instanceof AggregateError ? ((thrown.errors[0] as unknown) ?? thrown) : thrown;
    return { message: messageOf(error), position: syntaxPlace(error) ?? stackPlace(error, path) };
  } catch {
    return { message: messageOf(thrown), position: null };
  }
}

/** Converts a load problem to an error with file, line and column, of the author's source if there is a source map. */
export function loadFailed(
  { position, message }: LoadProblem,
  file: string,
  map?: SourceMap | null,
): WorkflowError {
  const { text } = (position && map?.original(position)?.at) ?? {};
  const line = text === undefined ? "" : `, thrown by: ${text}`;
  return topLevelFailed(positionIn(file, position, map), `${message}${line}`);
}

/** Formats a position as `file:line:column`, of the author's source if there is a source map. */
export function positionIn(
  file: string,
  position: SourcePosition | null,
  map?: SourceMap | null,
): string {
  if (!position) return file;
  const at = map?.original(position)?.at ?? { file, ...position };
  return `${at.file}:${at.line}:${at.column}`;
}

/** Returns the position of a syntax error of Bun (a `BuildMessage`); null for any other error. */
export function syntaxPlace(error: unknown): SourcePosition | null {
  const position = isRecord(error) ? error.position : null;
  if (!isRecord(position)) return null;
  const line = Number(position.line);
  return line > 0 ? { line, column: Math.max(1, Number(position.column)) } : null;
}

/** Returns the innermost position of an error's stack in `path`; null without one. */
export function stackPlace(error: unknown, path: string): SourcePosition | null {
  const stack = error instanceof Error ? error.stack : undefined;
  return typeof stack === "string" ? (positionsIn(stack, path)[0] ?? null) : null;
}

/** Returns a stack's positions in a file, innermost first. */
export function positionsIn(stack: string, path: string): SourcePosition[] {
  return stack.split("\n", 100).flatMap((line) => {
    const at = line.lastIndexOf(`${path}:`);
    const numbers = at === -1 ? null : /^(\d+):(\d+)/.exec(line.slice(at + path.length + 1));
    return numbers ? [{ line: Number(numbers[1]), column: Number(numbers[2]) }] : [];
  });
}

const asyncGeneratorFunction: unknown = Object.getPrototypeOf(async function* () {});

/**
 * Checks that a loaded module exports a bundle. Does not check the descriptor's content, because `add` has checked it.
 * {@link checkRun} checks the return value of a `run` that is a plain function.
 *
 * @throws WorkflowError `BUNDLE_REFUSED`; the caller adds the file's name to the message.
 */
export function toBundle(module: object): Bundle {
  const exported: { run?: unknown; descriptor?: unknown } = module;
  if (!isRun(exported.run)) throw runNotGenerator(describe(exported.run));
  const { descriptor } = exported;
  if (typeof descriptor !== "object" || descriptor === null) {
    throw descriptorNotObject(describe(descriptor));
  }
  if ("default" in module) throw defaultExported();
  return { run: exported.run, descriptor: descriptor as Bundle["descriptor"] };
}

const isRun = (value: unknown): value is Bundle["run"] =>
  typeof value === "function" &&
  [asyncGeneratorFunction, Function.prototype].includes(Object.getPrototypeOf(value));

/**
 * Calls a `run` that is a plain function, to check that it returns a generator. Ignores its errors, because it may need
 * a thread.
 *
 * @throws WorkflowError `BUNDLE_REFUSED`
 */
export function checkRun({ run }: Bundle): void {
  if (Object.getPrototypeOf(run) === asyncGeneratorFunction) return;
  let given: unknown;
  try {
    given = run({ prompt: "", steps: [] }, { threadId: "0".repeat(26), maxRounds: 1 });
  } catch {
    return;
  }
  const { next, [Symbol.asyncIterator]: iterator } = Object(given) as Record<
    string | symbol,
    unknown
  >;
  if (typeof next === "function" && iterator !== undefined) return;
  throw runReturnsOther(kindOf(given));
}

function describe(value: unknown): string {
  if (typeof value !== "function") return kindOf(value);
  const kind: unknown = Object.getPrototypeOf(value)?.[Symbol.toStringTag];
  return typeof kind === "string" ? `a plain ${kind}` : "a plain function";
}
