import { writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type ChildEnd, inTemporary, runChild } from "../bundle/child.ts";
import { type LoadProblem, loadFailed } from "../bundle/module.ts";
import { SourceMap } from "../bundle/source-map.ts";
import type { SandboxMode } from "../sandbox/mode.ts";
import { type Recording, recordedSide, silence, type Verdict } from "./recording.ts";
import { impatientMs } from "./replay.ts";

/**
 * Request to `replay-child`: a bundle, and the files of the environment and the recordings. `limitMs` is the time for
 * each answer in milliseconds. `isSlow` gets an answer after each recorded step, to find the step at which the process
 * hangs or ends.
 */
export type ReplayRequest = {
  path: string;
  env: string;
  files: readonly string[];
  limitMs: number;
  isSlow: boolean;
};

/** The number of recorded steps before the next answer, null when unknown; or the result of the next file. */
export type ReplayReport = { count: number | null } | { verdict: Verdict };

/** `unsupported`: the bundle runs its roles itself, so a replay would run them. */
export type ReplayAnswer = { done: true } | { unsupported: true } | { problem: LoadProblem };

/**
 * Options of a replay. `limitMs` is the maximum time without an answer of the version's code, 10 seconds by default.
 * `signal` ends the replay.
 */
export type ReplayLimits = {
  sandbox?: SandboxMode;
  env?: Record<string, string>;
  limitMs?: number;
  maxMemory?: number;
  signal?: AbortSignal;
};

/** Time in milliseconds to load a bundle, and maximum delay of a process that its own limit does not end. */
const graceMs = 5_000;

/**
 * Replays recordings on a bundle, in a confined child process as the check of `add` does. Code that hangs or ends the
 * process is a difference. Returns null for a bundle that can't be replayed, because it runs its roles itself.
 *
 * @throws WorkflowError `BUNDLE_LOAD_FAILED`, `SANDBOX_MISSING`, `SANDBOX_FAILED`. The signal's abort reason.
 */
export async function replayAll(
  bundle: string,
  recordings: readonly Recording[],
  { sandbox = "auto", env = {}, limitMs = 10_000, maxMemory = 1 << 30, signal }: ReplayLimits = {},
): Promise<Verdict[] | null> {
  const replays = async (folder: string): Promise<Verdict[] | null> => {
    const files = recordings.map((_, index) => join(folder, `${index}.json`));
    for (const [index, one] of recordings.entries())
      await writeFile(files[index] as string, JSON.stringify(one));
    const envFile = join(folder, "env.json");
    await writeFile(envFile, JSON.stringify(env));
    const verdicts: Verdict[] = [];
    let limit = limitMs;
    /** The end of the process whose position is being searched. */
    let located: string | null = null;
    while (verdicts.length < files.length) {
      const at = verdicts.length;
      const rest = files.slice(at, located === null ? undefined : at + 1);
      let count: number | null = null;
      const onReport = (report: unknown) => {
        const known = report as ReplayReport;
        if ("verdict" in known) verdicts.push(known.verdict);
        count = "count" in known ? known.count : null;
      };
      const request: ReplayRequest = {
        ...{ path: bundle, env: envFile, files: rest, limitMs: limit },
        isSlow: located !== null,
      };
      const child = (cwd: string) =>
        runChild({
          ...{ program: "replay-child", request, cwd, onReport, maxMemory },
          timeoutMs: limit + graceMs,
          ...(signal && { signal }),
          sandbox: { mode: sandbox, files: [bundle, envFile, ...rest] },
        });
      const end = await inTemporary("cwd-", child, folder);
      if (end.by === "answer") {
        const answer = end.answer as ReplayAnswer;
        if ("unsupported" in answer) return null;
        if ("problem" in answer) {
          const map = SourceMap.at(bundle.replace(/\.esm\.js$/, ".map"));
          throw loadFailed(answer.problem, bundle, map);
        }
        located = null;
        continue;
      }
      const broken = recordings[verdicts.length];
      if (!broken) break;
      const expected: string = located ?? endText(end, limit);
      // Do not wait as long again for a version that hangs.
      if (end.by === "time") limit = Math.min(limit, impatientMs);
      const isLocated: boolean = count !== null || located !== null;
      if (isLocated) verdicts.push(stuck(broken, count ?? broken.steps.length, expected));
      located = isLocated ? null : expected;
    }
    return verdicts;
  };
  return await inTemporary("replay-", replays, dirname(bundle));
}

function endText(end: Exclude<ChildEnd, { by: "answer" }>, limitMs: number): string {
  if (end.by === "time") return silence(limitMs);
  if (end.by === "exit") return `its process ${end.how}`;
  return "too much memory";
}

const stuck = (broken: Recording, count: number, expected: string): Verdict => ({
  status: "diverges",
  at: { step: count + 1, recorded: recordedSide(broken, count), expected },
});
