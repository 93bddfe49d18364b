import { execFile } from "node:child_process";
import type { Environment } from "../system/port.ts";

/** Result of a program: whether it succeeded, its output, and the first line of its errors. */
export type Tried = { isOk: boolean; output: string; problem: string };

const known = new Map<string, Promise<Tried>>();
const knownMs = 60_000;
const usualMs = 10_000;

/** Runs a program to its end, by default for at most ten seconds. The result is cached for a minute. */
export function tried(
  argv: readonly string[],
  env: Environment = {},
  longestMs = usualMs,
): Promise<Tried> {
  const key = JSON.stringify([argv, env]);
  const before = known.get(key);
  if (before) return before;
  const [path = "", ...args] = argv;
  const answer = new Promise<Tried>((resolve) => {
    const options = { env: { ...env }, timeout: longestMs, killSignal: "SIGKILL" } as const;
    execFile(path, args, options, (error, stdout, stderr) => {
      const problem = (stderr.trim() || error?.message) ?? "";
      resolve({ isOk: error === null, output: stdout, problem: problem.split("\n")[0] ?? "" });
    });
  });
  known.set(key, answer);
  setTimeout(() => known.delete(key), knownMs).unref();
  return answer;
}
