import { Console } from "node:console";
import { resolve } from "node:path";
import { Writable } from "node:stream";
import { WorkflowError } from "../contract/error.ts";
import { writeAll } from "../disk/files.ts";
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
 * Gives bundles this process to themselves: what they print goes to their threads' debug logs, `process.env` and
 * `process.cwd()` are those of their threads, and `process.exit` and what nothing catches fail the thread that they come
 * from.
 */
export function isolate(threads: Driven): void {
  guardExit();
  lendSurroundings();
  capturePrints();
  catchCrashes(threads);
}

/** Takes what a bundle prints to its thread's debug log; what no thread printed, to the worker's own log. */
function capturePrints(): void {
  const streams = { stdout: streamTo(1), stderr: streamTo(2) };
  for (const name of ["stdout", "stderr"] as const) {
    Object.defineProperty(process, name, {
      configurable: true,
      enumerable: true,
      value: streams[name],
    });
  }
  const printer = new Console(streams);
  for (const name of printing) Object.assign(console, { [name]: printer[name] });
}

function streamTo(fd: number): Writable {
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

/**
 * Keeps a bundle from ending the process that its siblings run in: `process.exit` fails the thread that
 * calls it.
 */
function guardExit(): void {
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

/**
 * Answers `process.env` and `process.cwd()` with the running thread's, by its async context, and with the worker's own where
 * no thread runs: at the module level of a bundle. `process.chdir` moves the process, and the thread's folder with it.
 */
function lendSurroundings(): void {
  const { env: own } = process;
  const cwd = process.cwd.bind(process);
  const chdir = process.chdir.bind(process);
  const env = () => currentContext()?.surroundings.env ?? own;
  // Threads of one shell share a frozen copy, until one of them changes its own.
  const changed = () => {
    const surroundings = currentContext()?.surroundings;
    if (!surroundings) return own;
    if (Object.isFrozen(surroundings.env)) surroundings.env = { ...surroundings.env };
    return surroundings.env as Record<string, string>;
  };
  process.env = new Proxy(own, {
    get: (_, key) => Reflect.get(env(), key),
    has: (_, key) => Reflect.has(env(), key),
    set: (_, key, value) => Reflect.set(changed(), key, String(value)),
    deleteProperty: (_, key) => Reflect.deleteProperty(changed(), key),
    defineProperty: (_, key, descriptor) => Reflect.defineProperty(changed(), key, descriptor),
    ownKeys: () => Reflect.ownKeys(env()),
    getOwnPropertyDescriptor: (_, key) => {
      const found = Reflect.getOwnPropertyDescriptor(env(), key);
      return found && { ...found, configurable: true, writable: true };
    },
  });
  process.cwd = () => currentContext()?.surroundings.cwd ?? cwd();
  process.chdir = (folder) => {
    const context = currentContext();
    const from = process.cwd();
    chdir(context ? resolve(from, folder) : folder);
    if (context) context.surroundings.cwd = cwd();
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
function catchCrashes(threads: Driven): void {
  const onUncaught = (thrown: unknown) => {
    const fail = currentContext()?.fail ?? threads.failOnly;
    if (fail) fail(thrown);
    else threads.noteUncaught(thrown);
  };
  process.on("uncaughtException", onUncaught);
  process.on("unhandledRejection", onUncaught);
}
