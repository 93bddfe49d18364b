import {
  type CaseChange,
  type CaseRun,
  type Changes,
  changesOf,
  type EvalHead,
  type Outcome,
  outcomes,
  summaryOf,
  type VersionRuns,
  type VersionSummary,
} from "@uncaged/workflow-evals";
import type { AttemptError } from "@uncaged/workflow/records";
import { thrownText } from "../output/error.ts";
import { costText } from "../output/ledger.ts";
import type { Look } from "../output/style.ts";
import { type Column, table } from "../output/table.ts";
import { count, elapsed, grouped, oneLine, versionText } from "../output/text.ts";

/** The output of `eval --json`. */
export type EvalReport = Pick<EvalHead, "id" | "dataset" | "scorer"> & {
  cases: number;
  repeat: number;
  versions: VersionSummary[];
  changes: Changes[];
  runs: (CaseRun & { hash: string })[];
};

/** Returns the results of an eval. Compares the later versions with the first. */
export function reportOf(
  { id, dataset, scorer, cases: known }: EvalHead,
  { cases, repeat }: { cases: number; repeat: number },
  versions: readonly VersionRuns[],
): EvalReport {
  const [baseline, ...others] = versions;
  const places = new Map(known.map((one, index) => [one.id, index]));
  const place = (run: CaseRun) => places.get(run.case) ?? known.length;
  const inOrder = (a: CaseRun, b: CaseRun) => place(a) - place(b) || a.n - b.n;
  return {
    ...{ id, dataset, scorer, cases, repeat },
    versions: versions.map(summaryOf),
    changes: baseline ? others.map((version) => changesOf(baseline, version)) : [],
    runs: versions.flatMap(({ hash, runs }) =>
      runs.toSorted(inOrder).map((run) => ({ hash, ...run })),
    ),
  };
}

const titles: Record<Exclude<Outcome, "scored">, string> = {
  failed: "FAILED",
  waits: "WAITING",
  budget: "OVER BUDGET",
  rounds: "OUT OF ROUNDS",
  unscored: "NOT SCORED",
};

export const percent = (share: number | null): string =>
  share === null ? "-" : `${Math.round(share * 1000) / 10}%`;
const scoreText = (score: number | null): string => (score === null ? "-" : score.toFixed(3));
const time = (ms: number | null): string =>
  ms === null ? "-" : ms < 1000 ? `${Math.round(ms)}ms` : elapsed(ms);

/** Returns a line for each version, then regressions, then runs without a score. */
export function reportText(report: EvalReport, look: Look): string {
  const { changes, runs, versions } = report;
  const cost = ({ cost: sum, unpriced }: VersionSummary) =>
    `${costText(sum)}${unpriced > 0 ? " + ?" : ""}`;
  const isSeen = (outcome: Outcome) => versions.some((one) => one.outcomes[outcome] > 0);
  const columns: Column<VersionSummary>[] = [
    {
      title: "VERSION",
      cell: ({ workflow, hash }) => versionText(workflow, hash, look.terminal),
      style: () => "bold",
    },
    { title: "RUNS", cell: ({ runs: all }) => grouped(all), right: true },
    { title: "PASS", cell: ({ passRate }) => percent(passRate), right: true },
    { title: "SCORE", cell: ({ score }) => scoreText(score), right: true },
    { title: "COST", cell: cost, right: true },
    { title: "P50", cell: ({ p50Ms }) => time(p50Ms), right: true },
    { title: "P95", cell: ({ p95Ms }) => time(p95Ms), right: true },
    ...outcomes
      .filter((outcome) => outcome !== "scored")
      .filter(isSeen)
      .map((outcome) => ({
        title: titles[outcome],
        cell: (one: VersionSummary) => grouped(one.outcomes[outcome]),
        right: true,
      })),
  ];
  const parts = [
    table(columns, versions, look),
    ...changes.map((one) => changesText(one, look)),
    unscoredText(runs, look),
    ...thrownTexts(runs, look),
  ];
  return parts.filter((part) => part !== "").join("\n");
}

const mostListed = 20;

function changesText({ hash, workflow, worse, better }: Changes, look: Look): string {
  const name = versionText(workflow, hash, look.terminal);
  const improved = better.length > 0 ? `; ${count(better.length, "case")} got better` : "";
  if (worse.length === 0) return `${name}: no case got worse${improved}\n`;
  const columns: Column<CaseChange>[] = [
    { title: "CASE", cell: (one) => oneLine(one.case), style: () => "bold" },
    {
      title: "PASSED",
      cell: ({ before, after }) => `${passedText(before)} -> ${passedText(after)}`,
    },
    {
      title: "SCORE",
      cell: (one) => `${scoreText(one.before.score)} -> ${scoreText(one.after.score)}`,
    },
    { title: "THREADS", cell: ({ after }) => after.threadIds.join(" ") },
  ];
  const rows = table(columns, worse.slice(0, mostListed), look);
  return `${name}: ${count(worse.length, "case")} got worse${improved}\n${rows}${more(worse)}`;
}

const passedText = ({ passed, runs }: CaseChange["before"]): string => `${passed}/${runs}`;

function unscoredText(runs: EvalReport["runs"], look: Look): string {
  const rows = runs.filter(({ outcome }) => outcome !== "scored");
  if (rows.length === 0) return "";
  const columns: Column<(typeof rows)[number]>[] = [
    { title: "CASE", cell: (run) => oneLine(run.case), style: () => "bold" },
    {
      title: "CAME TO",
      cell: ({ outcome }) => titles[outcome as keyof typeof titles].toLowerCase(),
    },
    { title: "THREAD", cell: ({ threadId }) => threadId ?? "-" },
    { title: "WHY", cell: ({ error }) => oneLine(error?.message ?? "") },
  ];
  return `${table(columns, rows.slice(0, mostListed), look)}${more(rows)}`;
}

const mostThrown = 3;

/** Returns the distinct errors that the scorer threw, each with its source line. */
function thrownTexts(runs: EvalReport["runs"], look: Look): string[] {
  const thrown = runs.flatMap(({ error }) => error?.thrown ?? []);
  const placeOf = ({ at, name }: AttemptError) => JSON.stringify([name, at?.file, at?.line]);
  const each = new Map(thrown.map((error) => [placeOf(error), error]));
  return [...each.values()]
    .slice(0, mostThrown)
    .map((error) => thrownText(error, { ...look, full: false }));
}

const more = ({ length }: readonly unknown[]): string =>
  length > mostListed
    ? `and ${grouped(length - mostListed)} more: see --json, or the console\n`
    : "";
