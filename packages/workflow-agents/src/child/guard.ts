import { spawn } from "node:child_process";
import { existsSync } from "node:fs";

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
