import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { stat } from "node:fs/promises";
import type { WorkflowError } from "@uncaged/workflow";
import { failure } from "../run/error.ts";

/** What runs in a process group: `env` is all the environment that it gets. */
export type GroupRequest = {
  argv: readonly string[];
  cwd: string;
  env: Readonly<Record<string, string>>;
  /** How long the group may take to end when it is asked to. */
  graceMs: number;
};

/** A process in a group of its own. `ended` resolves when its group is gone and its output read. */
export type ProcessGroup = {
  child: ChildProcessWithoutNullStreams;
  pid: number;
  ended: Promise<{ exitCode: number | null; signal: string | null }>;
};

// How long output may still come from a process that the first one left behind.
const drainMs = 250;
const pollMs = 10;
const lastMs = 200;

/** Starts a process in a group of its own, which ends with it and with this process. */
export async function spawnGroup({ argv, cwd, env, graceMs }: GroupRequest): Promise<ProcessGroup> {
  const [command = "", ...args] = argv;
  const child = spawn(command, args, { cwd, env: { ...env }, detached: true, stdio: "pipe" });
  const { pid } = child;
  // At once: a process that is killed before it has a guard leaves the group running.
  const release = pid === undefined ? null : guardGroup(pid, graceMs);
  // A command need not read what it is given.
  child.stdin.on("error", () => undefined);
  const closed = new Promise<void>((done) => child.once("close", () => done()));
  const ended: ProcessGroup["ended"] = new Promise((resolve) => {
    child.once("exit", (exitCode, signal) => {
      void (async () => {
        if (pid !== undefined && signalGroup(pid, 0)) await endGroup(pid, graceMs);
        await Promise.race([closed, new Promise((done) => setTimeout(done, drainMs))]);
        child.stdout.destroy();
        child.stderr.destroy();
        release?.();
        resolve({ exitCode, signal });
      })();
    });
  });
  await new Promise<void>((resolve, reject) => {
    child.once("spawn", resolve);
    child.once("error", reject);
  });
  if (pid === undefined) throw new Error("it has no process id");
  child.on("error", () => undefined);
  return { child, pid, ended };
}

/** Ends a process group: SIGTERM, and SIGKILL for what is left after `graceMs`. */
export async function endGroup(pid: number, graceMs: number): Promise<void> {
  signalGroup(pid, "SIGTERM");
  if (await isGone(pid, graceMs)) return;
  signalGroup(pid, "SIGKILL");
  await isGone(pid, lastMs);
}

async function isGone(pid: number, withinMs: number): Promise<boolean> {
  const end = performance.now() + withinMs;
  while (signalGroup(pid, 0)) {
    if (performance.now() >= end) return false;
    await new Promise((resolve) => setTimeout(resolve, pollMs));
  }
  return true;
}

/** Sends a signal to a whole group; false when nothing of it is left. A zombie counts, for a moment. */
function signalGroup(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-pid, signal);
  } catch {
    return false;
  }
}

const shell = "/bin/sh";
// Reads until its input ends, which is when this process does, in whatever way.
const script = 'read _; kill -TERM -"$1" 2>/dev/null && sleep "$2"; kill -KILL -"$1" 2>/dev/null';

/** Has a process group ended when this process is killed in any way; returns how to end the guard. */
function guardGroup(pid: number, graceMs: number): () => void {
  if (!existsSync(shell)) return () => undefined;
  const seconds = String(Math.max(1, Math.ceil(graceMs / 1000)));
  const guard = spawn(shell, ["-c", script, shell, String(pid), seconds], {
    cwd: "/",
    env: { PATH: "/usr/bin:/bin" },
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
  });
  guard.on("error", () => undefined);
  guard.stdin.on("error", () => undefined);
  return () => void guard.kill("SIGKILL");
}

const always = /^(PATH|HOME|USER|LOGNAME|SHELL|LANG|LC_ALL|LC_CTYPE|TERM|TMPDIR|TZ)$/;

/** The variables that hold no secret, and those of a list. A name that ends in `*` is all with that prefix. */
export function allowed(
  env: Readonly<Record<string, string>>,
  list: readonly string[],
): Record<string, string> {
  const isAllowed = (name: string) =>
    always.test(name) ||
    list.some((one) => (one.endsWith("*") ? name.startsWith(one.slice(0, -1)) : one === name));
  return Object.fromEntries(Object.entries(env).filter(([name]) => isAllowed(name)));
}

/** `argv[0]` is looked up in the `PATH` of `env`. */
type ChildRequest = GroupRequest & {
  input?: string;
  signal: AbortSignal;
  timeoutMs: number;
  onOutput: (chunk: Uint8Array) => void;
  onError: (chunk: Uint8Array) => void;
};

export type ChildEnd = {
  by: "exit" | "timeout" | "abort";
  exitCode: number | null;
  signal: string | null;
};

// A longer one would end at once.
const longestTimer = 2 ** 31 - 1;

/** Runs a command to its end, and ends what it left running. What a callback throws ends it too. */
export async function runChild(request: ChildRequest): Promise<ChildEnd> {
  const { signal, timeoutMs, graceMs, input = "" } = request;
  if (signal.aborted) return { by: "abort", exitCode: null, signal: null };
  const { child, pid, ended } = await start(request);
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
  child.stdout.on("data", feed(request.onOutput));
  child.stderr.on("data", feed(request.onError));
  child.stdin.end(input);
  try {
    const end = await ended;
    if (thrown) throw (thrown as { error: unknown }).error;
    return { by, ...end };
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", abort);
  }
}

async function start(request: ChildRequest): Promise<ProcessGroup> {
  const { cwd } = request;
  const stats = await stat(cwd).catch(() => null);
  if (!stats?.isDirectory()) {
    const message = `the working directory ${JSON.stringify(cwd)} is not there`;
    const hint = "start the thread again from a folder that is there";
    throw failure("COMMAND_REFUSED", message, hint);
  }
  return await spawnGroup(request).catch((error: NodeJS.ErrnoException) => {
    throw refusal(request, error);
  });
}

const problems: Record<string, readonly [code: string, problem: string, hint: string]> = {
  ENOENT: ["COMMAND_MISSING", "is not there", "install it, or set PATH so that it is found"],
  EACCES: ["COMMAND_REFUSED", "may not be run", "make it executable"],
  E2BIG: ["COMMAND_REFUSED", "got too long arguments", "give it the prompt by stdin"],
  ERR_INVALID_ARG_VALUE: ["COMMAND_REFUSED", "got an argument with a zero byte", "take it out"],
};

function refusal({ argv }: ChildRequest, error: NodeJS.ErrnoException): WorkflowError {
  const other = `can't be started: ${error.message}`;
  const [code, problem, hint] =
    problems[error.code ?? ""] ??
    (["COMMAND_REFUSED", other, "run it by hand to see why"] as const);
  const name = JSON.stringify((argv[0] ?? "").slice(0, 200));
  return failure(code, `the command ${name} ${problem}`, hint, { cause: error });
}
