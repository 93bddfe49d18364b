import { execFile } from "node:child_process";

/** How a program has ended: what it printed, and the first line of its complaint. */
export type Tried = { isOk: boolean; output: string; problem: string };

const usualMs = 10_000;
const knownMs = 60_000;
const known = new Map<string, Promise<Tried>>();

/** Runs a program to its end; the answer holds for a minute. */
export function tried(
  path: string,
  args: readonly string[],
  { env = {}, timeoutMs = usualMs }: { env?: Record<string, string>; timeoutMs?: number } = {},
): Promise<Tried> {
  const key = JSON.stringify([path, args, env]);
  const before = known.get(key);
  if (before) return before;
  const answer = new Promise<Tried>((resolve) => {
    const options = { env, timeout: timeoutMs, killSignal: "SIGKILL" } as const;
    execFile(path, [...args], options, (error, stdout, stderr) => {
      const problem = (stderr.trim() || error?.message) ?? "";
      resolve({ isOk: error === null, output: stdout, problem: problem.split("\n")[0] ?? "" });
    });
  });
  known.set(key, answer);
  setTimeout(() => known.delete(key), knownMs).unref();
  return answer;
}
