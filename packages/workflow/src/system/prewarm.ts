import type { Child, ProcessIdentity, SocketRequest, SocketResponse } from "./port.ts";
import { commandOf } from "./programs.ts";

/*
 * A worker's process that begins before it is known what it will run, while that is found out. It has no trace on the
 * disk: until it has its order it waits, and it ends when nobody is left to give one. This module imports nothing, so
 * that a command starts the process before anything else is loaded.
 */

/** What a prewarmed process becomes: a worker with these arguments, an open log, and a first request. */
export type WorkerOrder = {
  args: [root: string, hash: string, idleMs: string];
  request: SocketRequest;
  /** The process's own. */
  identity: ProcessIdentity | null;
  /** Folders whose names are durable. */
  made: string[];
  log: PreparedLog | null;
};

/**
 * The log of the thread that the first request starts, on the disk under a name aside: its size in bytes, the sum of its
 * one record in hexadecimal digits, and what in that record does not come from the request.
 */
export type PreparedLog = {
  threadId: string;
  timestamp: number;
  rounds: number;
  aside: string;
  size: number;
  sum: string;
};

/** A process that waits for its order. It takes one. */
export type PrewarmedWorker = Child & {
  readonly pid: number;
  /** Gives the order. Resolves to the response to its request; to null when the process ended without one. */
  begin(order: WorkerOrder): Promise<SocketResponse | null>;
  /** Ends the process: what it was started for is done otherwise. */
  drop(): void;
};

/** The environment variable that names the cluster which threads run on: they then need no worker of this machine. */
export const hostVariable = "UNCAGED_WORKFLOW_HOST";

/** The variable that has a worker's mark. What is started without it is left alone when the worker is lost. */
export const markVariable = "UNCAGED_WORKFLOW_WORKER";

/** How many logs a worker syncs at once. The disk takes them together, so that more are not slower. */
const syncsAtOnce = 32;

/** What a worker may know of the shell that starts it; a thread's own environment comes with its request. */
const passedOn: ReadonlySet<string> = new Set([
  ...["PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "TZ", "LANG", "NODE_EXTRA_CA_CERTS"],
  ...["SSL_CERT_FILE", "SSL_CERT_DIR", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY"],
]);

/** The environment of a worker's process: what it may know of the one that starts it, and a mark of its own. */
export function workerEnv(random: () => number): Record<string, string> {
  const env: Record<string, string> = {
    // Bun takes the size of its pool from this variable, as libuv does, and has few threads without it.
    UV_THREADPOOL_SIZE: String(syncsAtOnce),
    // Whoever starts it from a binary has just had the same binary read ahead.
    BUN_FEATURE_FLAG_DISABLE_STANDALONE_MADVISE: "1",
    [markVariable]: random().toString(36).slice(2).padEnd(8, "0"),
  };
  for (const name of Object.keys(process.env)) {
    const known = name.toUpperCase();
    const isPassedOn = passedOn.has(known) || known.startsWith("LC_");
    if (isPassedOn) env[name] = process.env[name] as string;
  }
  return env;
}

/** How many times more often than usual code must run before it is compiled, in a process that begins. */
const late = 16;

/**
 * Has code compiled late, until {@link compileAsUsual}: what a process does once, while it begins, is over before that
 * pays, and the compiler's thread would only slow down what it and the others do meanwhile.
 */
export const compileLate = (): void => setPolicy(late);

/** Has code compiled as soon as usual. */
export const compileAsUsual = (): void => setPolicy(1);

function setPolicy(times: number): void {
  // A Bun that is found on the PATH may be too old for it.
  const { setJITPolicy }: Partial<typeof Bun.unsafe> = Bun.unsafe;
  setJITPolicy?.(times);
}

/**
 * The process for the worker of a `run` on this machine, where these words are one; else null. It takes as long to begin
 * as the command does, which therefore asks for it before it loads anything else.
 */
export function prewarmForRun(argv: readonly string[]): PrewarmedWorker | null {
  const isLocalRun = argv[0] === "run" && !process.env[hostVariable] && !argv.includes("--host");
  return isLocalRun ? prewarmWorker() : null;
}

/** Starts the process of a worker without an order. */
export function prewarmWorker(): PrewarmedWorker {
  const child = Bun.spawn(commandOf("worker", []), {
    env: workerEnv(Math.random),
    stdio: ["pipe", "pipe", "ignore"],
    detached: true,
  });
  child.unref();
  return {
    pid: child.pid,
    get exitCode() {
      return child.exitCode;
    },
    get signalCode() {
      return child.signalCode;
    },
    async begin(order) {
      try {
        await child.stdin.write(`${JSON.stringify(order)}\n`);
        await child.stdin.end();
        const text = await new Response(child.stdout).text();
        return text === "" ? null : (JSON.parse(text) as SocketResponse);
      } catch {
        // It ended while it was read or written.
        return null;
      }
    },
    drop: () => child.kill("SIGKILL"),
  };
}
