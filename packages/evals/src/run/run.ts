import {
  failureOf,
  type Host,
  isWorkflowError,
  type StartOptions,
  threadJson,
  type ThreadView,
  toErrorRecord,
} from "@uncaged/workflow/host";
import { drivenToEnd, isQuestion, newThreadId, show } from "@uncaged/workflow/internal";
import { concurrently } from "@uncaged/workflow/interpreter";
import { ledgerOf } from "@uncaged/workflow-agents/ledger";
import type { CaseRun, Outcome } from "./compare.ts";
import type { EvalCase } from "./dataset.ts";
import type { EvalRecord } from "./record.ts";
import { type EvalThread, type Score, ScorerError } from "./score.ts";
import { fixtureUnsupported } from "./errors.ts";

/** The setup of an eval. */
export type EvalSetup = {
  host: Host;
  record: EvalRecord;
  versions: readonly { hash: string; workflow: string }[];
  cases: readonly EvalCase[];
  /** Number of runs of each case on each version. */
  repeat: number;
  /** Maximum number of concurrent threads. */
  concurrency: number;
  /** Start options of each thread. */
  start: Pick<StartOptions, "cwd" | "env" | "maxRounds" | "options">;
  /** Starts new threads for cases whose threads failed, ran out of rounds or exceeded their budget. */
  retryFailed?: boolean;
  /** Scores a completed thread. Rejects if the scorer gave no score. */
  score: (one: EvalCase, thread: EvalThread) => Promise<Score>;
  onChange?: (change: EvalChange) => void;
  signal?: AbortSignal;
};

/** Progress of a run: the run has `started`, is `done`, or has a recorded result (`known`). */
export type EvalChange = { kind: "started" | "known" } | { kind: "done"; run: CaseRun };

type Job = { hash: string; workflow: string; one: EvalCase; n: number };

/**
 * Runs all cases without a result, and records each result as it arrives. Records each thread's id before the thread
 * starts, so after a crash the next call follows that thread and does not start a second thread.
 * @throws WorkflowError for an error that affects all cases, such as a full disk.
 */
export async function runEval(setup: EvalSetup): Promise<void> {
  const { cases, concurrency, onChange, repeat, signal, versions, record } = setup;
  for (const version of versions) record.openVersion(version);
  function* tasks() {
    for (let n = 1; n <= repeat; n += 1) {
      for (const one of cases) {
        for (const version of versions) {
          const job = { ...version, one, n };
          if (signal?.aborted) return;
          if (isDone(setup, job)) onChange?.({ kind: "known" });
          else yield (stop: AbortSignal) => runOne(setup, job, stop);
        }
      }
    }
  }
  const { failures } = await concurrently(tasks(), { limit: concurrency, signal });
  for (const { error } of failures) throw error;
}

/** The final outcomes. Reading the thread again can't change them. */
const final: readonly Outcome[] = ["scored", "failed", "budget", "rounds"];

/** Tells whether a run has a final result and needs no thread. */
function isDone({ record, retryFailed }: EvalSetup, { hash, one, n }: Job): boolean {
  const known = record.result(hash, { case: one.id, n });
  if (!known) return false;
  return known.outcome === "scored" || (!retryFailed && final.includes(known.outcome));
}

async function runOne(setup: EvalSetup, job: Job, stop: AbortSignal): Promise<void> {
  const { record, onChange } = setup;
  const at = { case: job.one.id, n: job.n };
  onChange?.({ kind: "started" });
  const run = await resultOf(setup, job, await threadFor(setup, job), stop);
  if (run === null) return;
  record.finish(job.hash, { ...at, ...run, at: Date.now() });
  onChange?.({ kind: "done", run: { ...at, ...run, at: Date.now() } });
}

/** Returns the id of a run's thread, existing or new. */
async function threadFor({ record }: EvalSetup, { hash, one, n }: Job): Promise<string> {
  const at = { case: one.id, n };
  const known = record.result(hash, at);
  // Continue a waiting thread, because it may have an answer by now. Score a thread without a score again.
  const kept = known && !final.includes(known.outcome) ? known.threadId : null;
  const threadId = record.thread(hash, at) ?? kept ?? (await newThreadId());
  if (record.thread(hash, at) === null) record.start(hash, { ...at, threadId });
  return threadId;
}

type Result = Omit<CaseRun, "case" | "n" | "at">;

const nothing = { score: null, pass: false, reason: null, error: null } as const;
const unspent = { cost: 0, unpriced: 0, tokens: 0, durationMs: null } as const;

/** Starts the thread of a run if necessary, and follows the thread to its result; null if the eval was stopped. */
async function resultOf(
  { host, start, score }: EvalSetup,
  { hash, workflow, one, n }: Job,
  threadId: string,
  signal: AbortSignal,
): Promise<Result | null> {
  const { answers, fixture, id, params, prompt } = one;
  const own = { eval: { case: id, run: n }, ...(fixture && { fixture }) };
  const options = { ...start.options, ...own };
  const given = { workflow: hash, name: workflow, prompt, params, threadId };
  try {
    await host.start({ ...start, ...given, options });
  } catch (error) {
    // This error affects only this case. For example, the workflow refused the params.
    if (!isWorkflowError(error) || error.kind !== "usage") throw error;
    return { threadId: null, outcome: "failed", ...nothing, ...unspent, error: errorOf(error) };
  }
  const ref = { hash, threadId };
  const ended = await drivenToEnd(host, ref, { answers, fixture, env: start.env, signal });
  if (ended === null) return null;
  const { view, durationMs, refusal } = ended;
  const { total } = ledgerOf(await host.attempts(ref));
  const { cost, tokens, unpriced } = total;
  const spent = { threadId, cost, tokens, unpriced, durationMs };
  const failure = failureOf(view);
  if (failure?.code === "FIXTURE_UNSUPPORTED")
    throw fixtureUnsupported({ workflow: workflow, hash: hash }, failure.message);
  if (view.status !== "completed" || view.result.reason === "maxRounds") {
    const error = refusal ? errorOf(refusal) : problemOf(view);
    return { ...nothing, ...spent, outcome: outcomeOf(view), error };
  }
  try {
    const thread = { ...threadJson(view), cost, tokens, durationMs: durationMs ?? 0 };
    return { ...spent, outcome: "scored", error: null, ...(await score(one, thread)) };
  } catch (error) {
    if (signal.aborted) return null;
    return { ...nothing, ...spent, outcome: "unscored", error: errorOf(error) };
  }
}

function outcomeOf(view: ThreadView): Outcome {
  if (view.status === "waiting") return "waits";
  if (view.status === "completed") return "rounds";
  return failureOf(view)?.code === "BUDGET_EXCEEDED" ? "budget" : "failed";
}

function problemOf(view: ThreadView): CaseRun["error"] {
  if (view.status === "waiting") {
    const { content } = view.question;
    if (!view.steps.slice(-1).some(isQuestion)) return { code: "WAITING", message: content };
    const message = `no answer to ${show(content)}: add it to the "answers" of the case`;
    return { code: "WAITING", message };
  }
  const failure = failureOf(view);
  if (failure) return { code: failure.code ?? failure.name, message: failure.message };
  const message = "result" in view ? view.result.summary : `it is ${view.status}`;
  return {
    code: view.status === "completed" ? "OUT_OF_ROUNDS" : view.status.toUpperCase(),
    message,
  };
}

function errorOf(error: unknown): NonNullable<CaseRun["error"]> {
  const { code, message } = toErrorRecord(error);
  const thrown = error instanceof ScorerError && error.thrown ? { thrown: error.thrown } : {};
  return { code: isWorkflowError(error) ? code : "SCORER_FAILED", message, ...thrown };
}
