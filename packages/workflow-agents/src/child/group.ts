import { spawn } from "node:child_process";
import { existsSync } from "node:fs";

/** Sends a signal to a whole process group; false when nothing of it is left. */
export function signalGroup(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-pid, signal);
  } catch {
    return false;
  }
}

/** Whether a process of the group is left. One that nobody has waited for counts, for a moment. */
export const isGroupAlive = (pid: number): boolean => signalGroup(pid, 0);

const pollMs = 10;
const lastMs = 200;

/** Ends a process group: SIGTERM, and SIGKILL for what is left after `graceMs`. */
export async function endGroup(pid: number, graceMs: number): Promise<void> {
  signalGroup(pid, "SIGTERM");
  if (await isGone(pid, graceMs)) return;
  signalGroup(pid, "SIGKILL");
  await isGone(pid, lastMs);
}

async function isGone(pid: number, withinMs: number): Promise<boolean> {
  const end = performance.now() + withinMs;
  while (isGroupAlive(pid)) {
    if (performance.now() >= end) return false;
    await new Promise((resolve) => setTimeout(resolve, pollMs));
  }
  return true;
}

const shell = "/bin/sh";
// Reads until its input ends, which is when this process does, in whatever way.
const script = 'read _; kill -TERM -"$1" 2>/dev/null && sleep "$2"; kill -KILL -"$1" 2>/dev/null';

/**
 * Has a process group ended should this process be killed: a group of its own is not taken along, and
 * an agent that nobody reads any more would go on changing files. `release` when the group is gone.
 */
export function guardGroup(pid: number, graceMs: number): { release: () => void } {
  if (!existsSync(shell)) return { release: () => undefined };
  const seconds = String(Math.max(1, Math.ceil(graceMs / 1000)));
  const guard = spawn(shell, ["-c", script, shell, String(pid), seconds], {
    cwd: "/",
    env: { PATH: "/usr/bin:/bin" },
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
  });
  guard.on("error", () => undefined);
  guard.stdin.on("error", () => undefined);
  return { release: () => void guard.kill("SIGKILL") };
}

/** What every command gets of the thread's environment: nothing of it is a secret. */
const always = [
  "PATH",
  "HOME",
  "USER",
  "LOGNAME",
  "SHELL",
  "LANG",
  "LC_ALL",
  "LC_CTYPE",
  "TERM",
  "TMPDIR",
  "TZ",
];

/**
 * The part of an environment that a command gets: what every one does, and the variables of an
 * allow-list. A name that ends in `*` allows all that begin so.
 */
export function allowed(
  env: Readonly<Record<string, string>>,
  list: readonly string[],
): Record<string, string> {
  const isAllowed = (name: string) =>
    always.includes(name) ||
    list.some((one) => (one.endsWith("*") ? name.startsWith(one.slice(0, -1)) : one === name));
  return Object.fromEntries(Object.entries(env).filter(([name]) => isAllowed(name)));
}
