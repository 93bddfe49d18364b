import { type ChildProcess, spawn } from "node:child_process";
import { stat } from "node:fs/promises";
import type { WorkflowError } from "@uncaged/workflow";
import { failure } from "../run/error.ts";
import { endGroup, guardGroup, isGroupAlive, signalGroup } from "./group.ts";

/**
 * A command to run in a process group of its own. `argv[0]` is looked up in the `PATH` of `env`, which
 * is all the environment that it gets. Chunks are given as they come and kept nowhere. At a time-out
 * or an abort the group gets SIGTERM, and SIGKILL after `graceMs`.
 */
export type ChildRequest = {
  argv: readonly string[];
  cwd: string;
  env: Readonly<Record<string, string>>;
  input?: string;
  signal: AbortSignal;
  timeoutMs: number;
  graceMs: number;
  onOutput: (chunk: Uint8Array) => void;
  onError: (chunk: Uint8Array) => void;
};

/** How a command ended: by itself, or by which of the two that end it. */
export type ChildEnd = {
  by: "exit" | "timeout" | "abort";
  exitCode: number | null;
  signal: string | null;
};

// How long output may still come from a process that the command left behind.
const drainMs = 250;
// A longer one would end at once.
const longestTimer = 2 ** 31 - 1;

/**
 * Runs a command to its end, and ends what it left running. What a callback throws ends it too.
 *
 * @throws WorkflowError `COMMAND_MISSING`, `COMMAND_REFUSED` when it can't be started.
 */
export async function runChild(request: ChildRequest): Promise<ChildEnd> {
  const { signal, timeoutMs, graceMs } = request;
  if (signal.aborted) return { by: "abort", exitCode: null, signal: null };
  const { child, pid, guard } = await start(request);
  let by: ChildEnd["by"] = "exit";
  let thrown: { error: unknown } | null = null;
  const stop = (why: ChildEnd["by"]) => {
    if (by !== "exit") return;
    by = why;
    void endGroup(pid, graceMs);
  };
  const abort = () => stop("abort");
  const timer = setTimeout(() => stop("timeout"), Math.min(timeoutMs, longestTimer));
  signal.addEventListener("abort", abort);
  // It may have been aborted while the command was started.
  if (signal.aborted) abort();
  const feed = (take: (chunk: Uint8Array) => void) => (chunk: Uint8Array) => {
    if (thrown) return;
    try {
      take(chunk);
    } catch (error) {
      thrown = { error };
      stop("abort");
    }
  };
  child.stdout?.on("data", feed(request.onOutput));
  child.stderr?.on("data", feed(request.onError));
  try {
    const [exitCode, signalName] = await ended(child, pid, graceMs);
    if (thrown) throw (thrown as { error: unknown }).error;
    return { by, exitCode, signal: signalName };
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", abort);
    guard.release();
  }
}

type Started = { child: ChildProcess; pid: number; guard: { release: () => void } };

async function start(request: ChildRequest): Promise<Started> {
  const { argv, cwd, env, input, graceMs } = request;
  const [command = "", ...args] = argv;
  const isFolder = await stat(cwd).then(
    (stats) => stats.isDirectory(),
    () => false,
  );
  if (!isFolder) {
    const message = `the working directory ${JSON.stringify(cwd)} is not there`;
    const hint = "start the thread again from a folder that is there";
    throw failure("COMMAND_REFUSED", message, hint);
  }
  try {
    const child = spawn(command, args, { cwd, env: { ...env }, detached: true, stdio: "pipe" });
    // At once: a process that is killed before it has a guard leaves the command running.
    const { pid } = child;
    const guard = pid === undefined ? null : guardGroup(pid, graceMs);
    // A command need not read what it is given.
    child.stdin.on("error", () => undefined);
    await new Promise<void>((resolve, reject) => {
      child.once("error", reject);
      child.once("spawn", resolve);
    });
    if (pid === undefined || !guard) throw new Error("it has no process id");
    child.stdin.end(input ?? "");
    return { child, pid, guard };
  } catch (error) {
    throw refusal(request, error as NodeJS.ErrnoException);
  }
}

/** Resolves when the command is over, its group is gone and its output is read, or can't be. */
function ended(
  child: ChildProcess,
  pid: number,
  graceMs: number,
): Promise<[number | null, string | null]> {
  return new Promise((resolve) => {
    const closed = new Promise<void>((done) => child.once("close", () => done()));
    child.once("exit", (exitCode, signalName) => {
      void (async () => {
        if (isGroupAlive(pid)) await endGroup(pid, graceMs);
        await Promise.race([closed, new Promise((done) => setTimeout(done, drainMs))]);
        child.stdout?.destroy();
        child.stderr?.destroy();
        signalGroup(pid, "SIGKILL");
        resolve([exitCode, signalName]);
      })();
    });
  });
}

function refusal({ argv }: ChildRequest, error: NodeJS.ErrnoException): WorkflowError {
  const name = JSON.stringify((argv[0] ?? "").slice(0, 200));
  const [code, problem, hint] = problemOf(error);
  return failure(code, `the command ${name} ${problem}`, hint, { cause: error });
}

function problemOf({ code, message }: NodeJS.ErrnoException): [string, string, string] {
  switch (code) {
    case "ENOENT":
      return ["COMMAND_MISSING", "is not there", "install it, or set PATH so that it is found"];
    case "EACCES":
      return ["COMMAND_REFUSED", "may not be run", "make it executable"];
    case "E2BIG":
      return ["COMMAND_REFUSED", "got too long arguments", "give it the prompt by stdin"];
    case "ERR_INVALID_ARG_VALUE":
      return ["COMMAND_REFUSED", "got an argument with a zero byte", "take it out"];
    default:
      return ["COMMAND_REFUSED", `can't be started: ${message}`, "run it by hand to see why"];
  }
}
