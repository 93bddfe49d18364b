import type { AttemptError } from "@uncaged/workflow/records";

/* The results of an eval, computed from its records. The command line, its JSON and the console show them. */

/**
 * The outcome of a case's run. Either the scorer gave a score (`scored`) or no score (`unscored`), or the thread did
 * not complete: it `failed`, `waits` for a person, exceeded its `budget` or ran out of `rounds`.
 */
export type Outcome = (typeof outcomes)[number];

/** All possible outcomes of a case's run. */
export const outcomes = ["scored", "failed", "waits", "budget", "rounds", "unscored"] as const;

/** One run of a case on a version. `n` counts from 1. `threadId` is null if the run could not start a thread. */
export type CaseRun = {
  case: string;
  n: number;
  threadId: string | null;
  outcome: Outcome;
  score: number | null;
  pass: boolean;
  reason: string | null;
  /** `thrown` is the error that a scorer threw. */
  error: { code: string; message: string; thrown?: AttemptError } | null;
  /** In US dollars, for calls with a known price. `unpriced` counts the other calls. */
  cost: number;
  unpriced: number;
  tokens: number;
  durationMs: number | null;
  at: number;
};

/** The runs of one version. */
export type VersionRuns = { hash: string; workflow: string; runs: readonly CaseRun[] };

/**
 * The summary of a version's runs. A run without a score counts as not passed, with score 0, so that failures never
 * improve a version's result.
 */
export type VersionSummary = {
  hash: string;
  workflow: string;
  runs: number;
  passed: number;
  passRate: number | null;
  score: number | null;
  cost: number;
  unpriced: number;
  tokens: number;
  p50Ms: number | null;
  p95Ms: number | null;
  outcomes: Record<Outcome, number>;
};

/** Returns the counts, mean score, times and cost of a version's runs. */
export function summaryOf({ hash, workflow, runs }: VersionRuns): VersionSummary {
  const times = runs.flatMap(({ durationMs }) => durationMs ?? []).toSorted((a, b) => a - b);
  const passed = runs.filter(({ pass }) => pass).length;
  const sum = (value: (run: CaseRun) => number) =>
    runs.reduce((total, run) => total + value(run), 0);
  const counts = outcomes.map((outcome) => [
    outcome,
    runs.filter((run) => run.outcome === outcome).length,
  ]);
  return {
    ...{ hash, workflow, runs: runs.length, passed },
    passRate: runs.length === 0 ? null : passed / runs.length,
    score: meanScore(runs),
    cost: rounded(sum(({ cost }) => cost)),
    unpriced: sum(({ unpriced }) => unpriced),
    tokens: sum(({ tokens }) => tokens),
    p50Ms: percentile(times, 0.5),
    p95Ms: percentile(times, 0.95),
    outcomes: Object.fromEntries(counts) as Record<Outcome, number>,
  };
}

/**
 * Returns a percentile of sorted values: the smallest value that is at least as large as `share` of all values. Null
 * for an empty list.
 */
export function percentile(sorted: readonly number[], share: number): number | null {
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? null;
}

const meanScore = (runs: readonly CaseRun[]): number | null =>
  runs.length === 0
    ? null
    : rounded(runs.reduce((sum, { score }) => sum + (score ?? 0), 0) / runs.length);

// Removes floating-point noise.
const rounded = (value: number): number => Math.round(value * 1e12) / 1e12;

/** A case on two versions, with its mean scores and numbers of passed runs. */
export type CaseChange = { case: string; before: CaseMean; after: CaseMean };
/** The runs of one case on a version, with their mean score. */
export type CaseMean = { score: number; passed: number; runs: number; threadIds: string[] };

/** The cases whose results are worse or better than on the baseline, among the cases that ran on both versions. */
export type Changes = { hash: string; workflow: string; worse: CaseChange[]; better: CaseChange[] };

/** Compares a version with the baseline, case by case. */
export function changesOf(baseline: VersionRuns, version: VersionRuns): Changes {
  const [before, after] = [byCase(baseline), byCase(version)];
  const changes = [...before].flatMap(([id, one]): CaseChange[] => {
    const other = after.get(id);
    return other ? [{ case: id, before: meanOf(one), after: meanOf(other) }] : [];
  });
  const { hash, workflow } = version;
  return {
    ...{ hash, workflow },
    worse: changes.filter((change) => difference(change) < 0),
    better: changes.filter((change) => difference(change) > 0),
  };
}

/** Compares the share of passed runs, then the score. */
function difference({ before, after }: CaseChange): number {
  const passed = after.passed / after.runs - before.passed / before.runs;
  return passed === 0 ? after.score - before.score : passed;
}

const meanOf = (runs: readonly CaseRun[]): CaseMean => ({
  score: meanScore(runs) ?? 0,
  passed: runs.filter(({ pass }) => pass).length,
  runs: runs.length,
  threadIds: runs.flatMap(({ threadId }) => threadId ?? []),
});

const byCase = ({ runs }: VersionRuns): Map<string, CaseRun[]> =>
  Map.groupBy(runs, (run) => run.case);
