import { join } from "node:path";
import { runChild } from "../bundle/child.ts";
import { inHeldFolder } from "../bundle/held-folder.ts";
import { hashOf } from "../bundle/hash.ts";
import type { Fixture } from "../contract/fixture.ts";
import { type ErrorRecord, WorkflowError } from "../contract/error.ts";
import type { StartRequest } from "../control/control.ts";
import { writeFileAtomic } from "../disk/files.ts";
import { sha256 } from "../record/sha256.ts";
import { processEnded } from "./errors.ts";
import { moderatorPosition, rolePosition, runPosition, type SourceFile } from "./positions.ts";
import type { Facts } from "./rounds.ts";

/** Options of {@link runChaos}. */
export type ChaosOptions = {
  /** The workflow's name. */
  workflow: string;
  /** The code of the workflow's bundle. */
  code: string;
  /** The author's sources, which are searched for roles. */
  sources: readonly SourceFile[];
  prompt: string;
  params?: unknown;
  maxRounds?: number;
  options?: Record<string, unknown>;
  /** The recording that answers the thread's questions and roles. */
  fixture: Fixture | null;
  /** Whether the roles run. The fixture then answers only the roles that called a model. */
  isLive: boolean;
  /** The folder that is copied to the working folder of live roles; null for an empty working folder. */
  files: string | null;
  seed: number;
  /** The number of runs; null for one run for each fault. */
  runs: number | null;
  /** The number of the only run to make; null for all runs. */
  only: number | null;
  /** Aborts the runs. */
  signal?: AbortSignal;
};

/** A difference between runs with faults and the undisturbed run, with the source positions of the roles. */
export type ChaosDivergence = {
  /** The number of the run to repeat, which has the fewest faults; 0 for an undisturbed run. */
  run: number;
  /** The number of runs that differ in this way. */
  runs: number;
  /** Descriptions of the run's faults; empty when undisturbed runs differ. */
  faults: string[];
  /** The number of the first step that differs, from 1; the end counts as a step. Null when a file differs. */
  step: number | null;
  undisturbed: string | null;
  faulted: string | null;
  /** The role to check, and its position as `file:line:column`; null when unknown. */
  role: string | null;
  path: string | null;
  /** The roles that ran more than once for one step. */
  repeated: { role: string; path: string | null }[];
};

/** The result of runs under faults. `worst` is the number of the run to repeat; 0 for an undisturbed run. */
export type ChaosResult = {
  runs: number;
  faults: number;
  repeated: { role: string; times: number; path: string | null }[];
  diverged: ChaosDivergence[];
  worst: number;
  end: Facts["end"];
};

/** The request to the child process. It is passed in a file, because a fixture may be long. */
export type ChaosRequest = {
  hash: string;
  sha256: string;
  work: string;
  files: string | null;
  isLive: boolean;
  start: StartRequest;
  fixture: Fixture | null;
  seed: number;
  runs: number | null;
  only: number | null;
};

/** Response of the child process. */
export type ChaosAnswer = { facts: Facts } | { error: ErrorRecord };

const timeoutMs = 30 * 60_000;
const maxMemory = 4 * 2 ** 30;
/** The id of the thread in each run. Roles see it, so it must not differ between runs. */
const threadId = "01CHA0S0000000000000000000";

/**
 * Runs a workflow many times in a separate process and storage root, with faults at commits, roles and answers, and
 * compares each run with an undisturbed run.
 *
 * @throws WorkflowError `CHAOS_FAILED`. Throws the reason of `signal` when it is aborted.
 */
export async function runChaos(options: ChaosOptions): Promise<ChaosResult> {
  const { workflow, code, prompt, params, maxRounds, fixture, isLive, seed, runs, only } = options;
  const { signal } = options;
  const bytes = new TextEncoder().encode(code);
  const end = await inHeldFolder("uncaged-chaos-", async (folder) => {
    const cwd = join(folder, "work");
    const own = { ...options.options, cwd };
    const start: StartRequest = {
      ...{ threadId, workflow, prompt, options: own, env: {} },
      ...(params !== undefined && { params }),
      ...(maxRounds !== undefined && { maxRounds }),
    };
    const request: ChaosRequest = {
      ...{ hash: hashOf(bytes), sha256: sha256(bytes), work: cwd, files: options.files, start },
      ...{ isLive, fixture, seed, runs, only },
    };
    writeFileAtomic(join(folder, "bundle.esm.js"), bytes);
    writeFileAtomic(join(folder, "request.json"), JSON.stringify(request));
    const env = { PATH: process.env.PATH ?? "", HOME: folder, TMPDIR: folder };
    const task = { program: "chaos-child", request: { folder }, cwd: folder, env } as const;
    return await runChild({ ...task, timeoutMs, maxMemory, ...(signal && { signal }) });
  });
  if (end.by !== "answer") throw processEnded(howOf(end));
  const answer = end.answer as ChaosAnswer;
  if ("error" in answer) throw new WorkflowError(answer.error);
  return withPositions(answer.facts, options.sources);
}

const howOf = (end: { by: "exit"; how: string } | { by: "time" | "memory" }): string => {
  if (end.by === "exit") return end.how;
  return end.by === "time" ? "took longer than 30 minutes" : "used more than 4 GiB of memory";
};

function withPositions(facts: Facts, sources: readonly SourceFile[]): ChaosResult {
  const pathOf = (role: string): string | null => rolePosition(sources, role);
  return {
    ...{ runs: facts.runs, faults: facts.faults, worst: facts.worst, end: facts.end },
    repeated: facts.repeated.map((one) => ({ ...one, path: pathOf(one.role) })),
    diverged: facts.diverged.map(({ again, isEffect, ...own }) => {
      const ofRole = own.role === null ? null : pathOf(own.role);
      // The moderator decides the path. An end does not have a role, so `run` is the last choice.
      const path = isEffect
        ? ofRole
        : (moderatorPosition(sources) ?? ofRole ?? runPosition(sources));
      return { ...own, path, repeated: again.map((role) => ({ role, path: pathOf(role) })) };
    }),
  };
}
