import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type ChildEnd, inTemporary, runChild } from "../bundle/child.ts";
import { type LoadProblem, loadFailed } from "../bundle/module.ts";
import { SourceMap } from "../bundle/source-map.ts";
import { END } from "../contract/contract.ts";
import type { SandboxMode } from "../sandbox/mode.ts";
import { type Recording, sideOf, type Verdict } from "./recording.ts";

/** Request to `replay-child`: a bundle, and the files of the recordings. `limitMs` is the time for each answer. */
export type ReplayRequest = { path: string; files: readonly string[]; limitMs: number };

/** A sign of life, or the result of the next file. */
export type ReplayReport = { progress: true } | { verdict: Verdict };

/** `unsupported`: the bundle runs its roles itself, so a replay would run them. */
export type ReplayAnswer = { done: true } | { unsupported: true } | { problem: LoadProblem };

/** Options of a replay. `limitMs` is the longest time without an answer of the version's code, 10 seconds by default. */
export type ReplayLimits = {
  sandbox?: SandboxMode;
  env?: Record<string, string>;
  limitMs?: number;
  maxMemory?: number;
};

/** Time in milliseconds to load a bundle, and longest stop of a process that its own limit does not end. */
const graceMs = 5_000;

/**
 * Replays recordings on a bundle, in a confined child process as the check of `add` does. Code that hangs or ends the
 * process is a difference. Returns null for a bundle that can't be replayed, because it runs its roles itself.
 *
 * @throws WorkflowError `BUNDLE_LOAD_FAILED`, `SANDBOX_MISSING`, `SANDBOX_FAILED`.
 */
export async function replayAll(
  bundle: string,
  recordings: readonly Recording[],
  { sandbox = "auto", env = {}, limitMs = 10_000, maxMemory = 1 << 30 }: ReplayLimits = {},
): Promise<Verdict[] | null> {
  return await inTemporary("uncaged-replay-", async (folder) => {
    const files = recordings.map((_, index) => join(folder, `${index}.json`));
    for (const [index, one] of recordings.entries())
      await writeFile(files[index] as string, JSON.stringify(one));
    const verdicts: Verdict[] = [];
    let limit = limitMs;
    while (verdicts.length < files.length) {
      const rest = files.slice(verdicts.length);
      const request: ReplayRequest = { path: bundle, files: rest, limitMs: limit };
      const onReport = (report: unknown) => {
        const known = report as ReplayReport;
        if ("verdict" in known) verdicts.push(known.verdict);
      };
      const end = await inTemporary("uncaged-replay-cwd-", (cwd) =>
        runChild({
          ...{ program: "replay-child", request, cwd, env, onReport, maxMemory },
          timeoutMs: limit + graceMs,
          sandbox: { mode: sandbox, files: [bundle, ...rest] },
        }),
      );
      if (end.by !== "answer") {
        const broken = recordings[verdicts.length];
        if (broken) verdicts.push(stuck(broken, endText(end, limit)));
        // Do not wait as long for the other threads of a version that hangs.
        if (end.by === "time") limit = Math.min(limit, 1_000);
        continue;
      }
      const answer = end.answer as ReplayAnswer;
      if ("unsupported" in answer) return null;
      if ("problem" in answer) {
        throw loadFailed(
          answer.problem,
          bundle,
          SourceMap.at(bundle.replace(/\.esm\.js$/, ".map")),
        );
      }
    }
    return verdicts;
  });
}

function endText(end: Exclude<ChildEnd, { by: "answer" }>, limitMs: number): string {
  if (end.by === "time") return `nothing within ${limitMs / 1000} s`;
  if (end.by === "exit") return `its process ${end.how}`;
  return "too much memory";
}

function stuck({ steps, end }: Recording, expected: string): Verdict {
  const [first] = steps;
  const recorded = first ? sideOf(first) : end === null ? null : END;
  return { status: "diverges", at: { step: 1, recorded, expected } };
}
