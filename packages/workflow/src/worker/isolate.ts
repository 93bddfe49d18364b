import { Console } from "node:console";
import { resolve } from "node:path";
import { Writable } from "node:stream";
import { writeAll } from "../disk/files.ts";
import { currentContext } from "./context.ts";
import { bundleExited } from "./errors.ts";

/** The printing methods of a console of `node:console`. */
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
 * Isolates the threads of a bundle in this process: output goes to the thread's debug log, `process.env` and
 * `process.cwd()` return the thread's values, and `process.exit` and uncaught errors fail the thread that caused them.
 */
export function isolate(threads: Driven): void {
  guardExit();
  lendSurroundings();
  capturePrints();
  catchCrashes(threads);
}

/** Redirects a thread's output to its debug log, and other output to the worker's log. */
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

/** Prevents a thread from ending the process of other threads: `process.exit` fails the calling thread. */
function guardExit(): void {
  process.exit = (code) => {
    const error = bundleExited(String(code ?? ""));
    currentContext()?.fail(error);
    throw error;
  };
}

/**
 * Makes `process.env` and `process.cwd()` return the running thread's values, by its async context, and the worker's
 * values at a bundle's module level. `process.chdir` changes the folder of the process and of the thread.
 */
function lendSurroundings(): void {
  const { env: own } = process;
  const cwd = process.cwd.bind(process);
  const chdir = process.chdir.bind(process);
  const env = () => currentContext()?.surroundings.env ?? own;
  // Threads started from one shell share a frozen copy until a thread changes its environment.
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
      if (!found) return undefined;
      // Some of the process's own variables have a getter.
      const value: unknown = Reflect.get(env(), key);
      return { value, enumerable: found.enumerable, configurable: true, writable: true };
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

/**
 * The threads of a process. `failOnly` fails the only thread that the process has ever driven, null if there were
 * several; `noteUncaught` records an uncaught error in all threads.
 */
export type Driven = {
  readonly failOnly: ((thrown: unknown) => void) | null;
  noteUncaught(thrown: unknown): void;
};

/**
 * Fails only the thread that an uncaught error belongs to. Bun keeps a timer's async context for `uncaughtException`
 * but not for `unhandledRejection`: a rejection then belongs to the only thread that this worker has ever driven. If
 * the worker has driven several threads, including ended threads, the source is unknown: the error is noted in each
 * debug log, and the threads continue.
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
