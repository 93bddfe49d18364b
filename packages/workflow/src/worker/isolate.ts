import type { Writable } from "node:stream";
import { WorkflowError } from "../contract/error.ts";
import { writeAll } from "../storage/files.ts";
import { currentContext } from "./context.ts";

/** What a console of `node:console` can print. */
const printing = [
  ...([
    "log",
    "info",
    "debug",
    "warn",
    "error",
    "trace",
    "assert",
    "dir",
    "dirxml",
    "table",
  ] as const),
  ...(["group", "groupCollapsed", "groupEnd", "count", "countReset"] as const),
  ...(["time", "timeLog", "timeEnd", "clear"] as const),
];

/**
 * Takes what a bundle prints to its thread's debug log; what no thread printed, to the worker's own log.
 * Streams and consoles are made when a bundle first prints: to load what makes them takes longer than
 * all else that a worker does before its first step.
 */
export function capturePrints(): void {
  const stdout = once(() => streamTo(1));
  const stderr = once(() => streamTo(2));
  replace("stdout", stdout);
  replace("stderr", stderr);
  const printer = once(() => {
    const { Console } = process.getBuiltinModule("node:console");
    return new Console({ stdout: stdout(), stderr: stderr() });
  });
  for (const name of printing) {
    console[name] = (...values: unknown[]) => {
      (printer()[name] as (...values: unknown[]) => void)(...values);
    };
  }
}

// Bun makes the real stream as soon as the property is looked at or defined, but not when it is set; and every
// lazy property of `process` where this is not done by an assignment.
function replace(name: "stdout" | "stderr", stream: () => Writable): void {
  (process as { stdout: unknown; stderr: unknown })[name] = null;
  Object.defineProperty(process, name, { configurable: true, enumerable: true, get: stream });
}

function streamTo(fd: number): Writable {
  const { Writable } = process.getBuiltinModule("node:stream");
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      const context = currentContext();
      if (context) context.info.log("V1BZ6SHC", chunk.toString("utf8").replace(/\n$/, ""));
      else writeAll(fd, chunk);
      done();
    },
  });
  return Object.assign(stream, { fd });
}

function once<T>(make: () => T): () => T {
  let made: { value: T } | null = null;
  return () => (made ??= { value: make() }).value;
}

/**
 * Keeps a bundle from ending the process that its siblings run in: `process.exit` fails the thread that
 * calls it.
 */
export function guardExit(): void {
  process.exit = (code) => {
    const error = WorkflowError.failed(
      "BUNDLE_EXITED",
      `the bundle called process.exit(${code ?? ""})`,
      "return {returnCode, summary} instead",
    );
    currentContext()?.fail(error);
    throw error;
  };
}

/** How to fail the only thread that was ever driven in this process, if it was but one; and how all note what nobody caught. */
export type Driven = {
  readonly failOnly: ((thrown: unknown) => void) | null;
  noteUncaught(thrown: unknown): void;
};

/**
 * Fails the one thread that something uncaught belongs to, and no other. Bun keeps a timer's async
 * context for `uncaughtException` but none for `unhandledRejection`: a rejection then belongs to the
 * only thread that this worker has ever driven. When it has driven several it is not known whose it
 * is, for one that has ended may have left it: it is noted in the debug log of each, and they go on.
 */
export function catchCrashes(threads: Driven): void {
  const onUncaught = (thrown: unknown) => {
    const fail = currentContext()?.fail ?? threads.failOnly;
    if (fail) fail(thrown);
    else threads.noteUncaught(thrown);
  };
  process.on("uncaughtException", onUncaught);
  process.on("unhandledRejection", onUncaught);
}
