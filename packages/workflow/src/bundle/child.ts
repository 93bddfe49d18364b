import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, writeSync } from "node:fs";
import { realpath, rm } from "node:fs/promises";
import { constants, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { SandboxMode } from "../sandbox/mode.ts";
import { readTree } from "../sandbox/process-tree.ts";
import { commandOf, type Program } from "../system/programs.ts";
import { confined } from "./confined.ts";
import { sandboxFailed, temporaryUnusable } from "./errors.ts";

/** One of this package's programs to run in a child process, and its limits. */
export type ChildTask = {
  program: Exclude<Program, "worker">;
  request: object;
  cwd: string;
  env?: Record<string, string>;
  timeoutMs: number;
  /** Maximum memory of the process and its descendants in bytes. Enforced on Linux only. */
  maxMemory: number;
  /** Sandbox mode (`off` by default), and the files visible in the sandbox besides `cwd`. */
  sandbox?: { mode: SandboxMode; files: readonly string[] };
  /** Kills the program when the signal is aborted. */
  signal?: AbortSignal;
  /** Called with each report before the answer. A report restarts the time limit. */
  onReport?: (report: unknown) => void;
};

/** The reason why a child process ended: its answer, its exit before an answer, or an exceeded limit. */
export type ChildEnd =
  | { by: "answer"; answer: unknown }
  | { by: "exit"; how: string }
  | { by: "time" | "memory" };

/** Makes a temporary folder, which the caller removes. @throws WorkflowError `TMPDIR_UNUSABLE` */
export function makeTemporary(prefix: string, parent = tmpdir()): string {
  try {
    return mkdtempSync(join(parent, prefix));
  } catch (error) {
    throw temporaryUnusable(parent, error);
  }
}

/** Runs a function with the real path of a new temporary folder, then removes the folder. */
export async function inTemporary<T>(
  prefix: string,
  act: (folder: string) => Promise<T>,
  parent = tmpdir(),
): Promise<T> {
  const folder = await realpath(makeTemporary(prefix, parent));
  try {
    return await act(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const maxAnswer = 8 << 20;

/**
 * Runs a program of this package in its own process group, and in a sandbox if `sandbox` is set. The program gets no
 * input and only the given environment; its output is discarded. It answers through {@link openChannel}. Kills the
 * whole group after the answer or when a limit is exceeded. Bun also ends the program when this process dies.
 *
 * @throws WorkflowError `SANDBOX_MISSING`, or `SANDBOX_FAILED` when the sandbox could not be set up. Throws the reason
 * of `signal` when it is aborted.
 */
export async function runChild(task: ChildTask): Promise<ChildEnd> {
  const { cwd, env, program, sandbox = { mode: "off", files: [] } } = task;
  const token = crypto.randomUUID();
  const args = [token, JSON.stringify(task.request)];
  using box = await confined({ program, args, cwd, files: sandbox.files }, sandbox.mode);
  const [command = "", ...rest] = box?.argv ?? commandOf(program, args);
  const child = spawn(command, rest, {
    cwd,
    env: { ...env, BUN_FEATURE_FLAG_NO_ORPHANS: "1" },
    detached: true,
    stdio: ["ignore", "ignore", box ? "pipe" : "ignore", "pipe", ...(box?.descriptors ?? [])],
  });
  const complaint = complaintOf(child);
  const bounds = watchBounds(child, task);
  try {
    const onReport = (report: unknown) => {
      bounds.restart();
      task.onReport?.(report);
    };
    const end = await Promise.race([endOf(child, token, onReport), bounds.passed]);
    const problem = end.by === "exit" ? complaint() : null;
    if (problem === null) return end;
    throw sandboxFailed(problem);
  } finally {
    bounds.stop();
    await killGroup(child);
  }
}

const mostComplaint = 4096;

/**
 * Collects the error output. Returns a function that returns bubblewrap's error message in it; null if it has none.
 * Bubblewrap writes its message before the program can write.
 */
function complaintOf({ stderr }: ChildProcess): () => string | null {
  let text = "";
  stderr?.on("data", (chunk: Buffer) => {
    if (text.length < mostComplaint) text += chunk.toString();
  });
  stderr?.on("error", () => undefined);
  return () => /^bwrap: .*/.exec(text)?.[0] ?? null;
}

type OnReport = NonNullable<ChildTask["onReport"]>;

async function endOf(child: ChildProcess, token: string, onReport: OnReport): Promise<ChildEnd> {
  const exited = once(child, "exit") as Promise<[number | null, string | null]>;
  const answer = await answerIn(child, token, onReport);
  if (answer !== null) return { by: "answer", answer };
  const [code, killedBy] = await exited;
  const signal = killedBy ?? signalIn(code);
  return { by: "exit", how: signal ? `was ended by ${signal}` : `ended with code ${code}` };
}

/** Returns the signal that killed the program in bubblewrap, from bubblewrap's exit code. */
const signalIn = (code: number | null): string | undefined =>
  Object.entries(constants.signals).find(([, number]) => code === 128 + number)?.[0];

// A line that starts with the token is a report or the answer: only `openChannel` of the child knows the token.
async function answerIn(child: ChildProcess, token: string, onReport: OnReport): Promise<unknown> {
  const channel = child.stdio[3];
  if (!channel || !("setEncoding" in channel)) throw new Error("the child has no channel");
  channel.setEncoding("utf8");
  let rest = "";
  for await (const chunk of channel as AsyncIterable<string>) {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      if (!line.startsWith(token)) continue;
      const { report, answer } = JSON.parse(line.slice(token.length)) as Message;
      if (report === undefined) return answer;
      onReport(report);
    }
    if (rest.length > maxAnswer) rest = "";
  }
  return null;
}

type Message = { report?: unknown; answer?: unknown };

function watchBounds(child: ChildProcess, { timeoutMs, maxMemory, signal }: ChildTask) {
  const { promise, resolve, reject } = Promise.withResolvers<ChildEnd>();
  const start = () => setTimeout(() => resolve({ by: "time" }), timeoutMs);
  let clock = start();
  const end = new AbortController();
  const abort = () => reject(signal?.reason as Error);
  signal?.addEventListener("abort", abort);
  if (signal?.aborted) abort();
  const watch = async () => {
    while (!end.signal.aborted) {
      if ((await residentBytes(child.pid)) > maxMemory) resolve({ by: "memory" });
      await pause(memoryPollMs);
    }
  };
  void watch();
  return {
    passed: promise,
    restart() {
      clearTimeout(clock);
      clock = start();
    },
    stop() {
      clearTimeout(clock);
      signal?.removeEventListener("abort", abort);
      end.abort();
    },
  };
}

const memoryPollMs = 20;

/** Returns the resident memory of a process and its descendants in bytes; 0 where the system does not report it. */
async function residentBytes(pid: number | undefined): Promise<number> {
  const tree = pid === undefined ? [] : await readTree(pid);
  return tree.reduce((sum, { resident }) => sum + resident, 0);
}

async function killGroup(child: ChildProcess): Promise<void> {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, "SIGKILL");
  } catch {
    // The group has already ended.
  }
  if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
}

const channel = 3;

/** A child's connection to its parent. The parent ignores answers and reports after the first answer. */
export type Channel = {
  request: unknown;
  answer: (value: unknown) => void;
  report: (value: unknown) => void;
};

/**
 * Returns the parent's request to this child, and functions that send JSON to the parent. Call it before any foreign
 * code runs: foreign code must not see the request, and may replace built-in functions that `answer` uses.
 */
export function openChannel(): Channel {
  const [token, request] = process.argv.splice(2);
  // Hide the variables that `runChild` and bubblewrap (`PWD`) have set.
  for (const name of ["BUN_FEATURE_FLAG_NO_ORPHANS", "PWD"]) delete process.env[name];
  const write = writeSync;
  const stringify = JSON.stringify;
  const toBytes = Buffer.from.bind(Buffer);
  let answered = false;
  const send = (message: Message) => {
    if (answered) return;
    answered = "answer" in message;
    const bytes = toBytes(`${token}${stringify(message)}\n`);
    for (let done = 0; done < bytes.length; ) done += write(channel, bytes, done);
  };
  return {
    request: JSON.parse(request ?? "null"),
    answer: (answer) => send({ answer }),
    report: (report) => send({ report }),
  };
}
