import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import type { GroupRequest } from "./request.ts";

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
export async function spawnGroup(request: GroupRequest): Promise<ProcessGroup> {
  const { argv, cwd, descriptors = [], env, graceMs } = request;
  const [command = "", ...args] = argv;
  const child = spawn(command, args, {
    ...{ cwd, env: { ...env }, detached: true },
    stdio: ["pipe", "pipe", "pipe", ...descriptors],
  }) as ChildProcessWithoutNullStreams;
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
// Reads until its input ends, which is when this process does, in whatever way. It signals while the group is there
// and no longer: the number may be another's then.
const script = `read _; kill -TERM -"$1" || exit
left=$2
while [ "$left" -gt 0 ]; do sleep 0.1 || sleep 1; kill -0 -"$1" || exit; left=$((left - 1)); done
kill -KILL -"$1"`;
const pollsPerSecond = 10;

/** Has a process group ended when this process is killed in any way; returns how to end the guard. */
function guardGroup(pid: number, graceMs: number): () => void {
  if (!existsSync(shell)) return () => undefined;
  const polls = Math.max(pollsPerSecond, Math.ceil((graceMs * pollsPerSecond) / 1000));
  const guard = spawn(shell, ["-c", script, shell, String(pid), String(polls)], {
    cwd: "/",
    env: { PATH: "/usr/bin:/bin" },
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
  });
  guard.on("error", () => undefined);
  guard.stdin.on("error", () => undefined);
  return () => void guard.kill("SIGKILL");
}
