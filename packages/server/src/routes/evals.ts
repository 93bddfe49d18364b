import {
  type CaseRun,
  changesOf,
  type EvalPlace,
  type EvalView,
  listEvals,
  readEval,
  summaryOf,
} from "@uncaged/workflow-evals";
import { z } from "@hono/zod-openapi";
import * as schema from "../schema/eval.ts";
import { count, text } from "../schema/value.ts";
import { Routes } from "./route.ts";
import { evalNotFound, versionNotFound } from "./errors.ts";

/** Maximum length of a case's excerpt, in characters. The threads of the case have the whole text. */
const longestShown = 300;

export function evalRoutes(place: EvalPlace) {
  const routes = new Routes("Evals");
  routes.add("GET /evals", {
    summary: "List the evals, newest first",
    answer: ["The evals, each with its versions.", z.array(schema.evalRowSchema)],
    run: () => listEvals(place).map((one) => ({ ...headOf(one), cases: one.cases.length })),
  });
  routes.add("GET /evals/{id}", {
    summary: "Show an eval: its versions side by side, and each case with its threads",
    params: z.object({ id: text.describe("The eval's id.") }),
    query: z.object({
      baseline: text
        .optional()
        .describe("The hash of the version to compare with. Default: the first version."),
      show: z.enum(schema.caseFilters).default("all").describe("The filter for cases."),
      limit: count(1, 10_000).default(50).describe("The number of cases, from the first."),
    }),
    answer: ["The eval.", schema.evalSchema],
    run({ params: { id }, query: { baseline, ...wanted } }) {
      const found = readEval(place, id);
      if (!found) throw evalNotFound(id);
      return compared(found, baseline, wanted);
    },
  });
  return routes.app;
}

const headOf = ({ id, createdAt, dataset, scorer, versions }: EvalView) => ({
  ...{ id, createdAt, dataset, scorer },
  versions: versions.map((version) => ({ ...summaryOf(version), started: version.started })),
});

type CaseFilter = (typeof schema.caseFilters)[number];

function compared(
  found: EvalView,
  wanted: string | undefined,
  { show: filter, limit }: { show: CaseFilter; limit: number },
) {
  const { cases, versions } = found;
  const baseline = versions.find(({ hash }) => hash === wanted) ?? versions[0];
  if (wanted !== undefined && baseline?.hash !== wanted) throw versionNotFound(found.id, wanted);
  const others = versions.filter((version) => version !== baseline);
  const changes = others.map((version) => changesOf(baseline ?? version, version));
  const all = versions.flatMap(({ hash, runs }) => runs.map((run) => ({ hash, run })));
  const byCase = Map.groupBy(all, ({ run }) => run.case);
  const hasRun = (is: (run: CaseRun) => boolean) =>
    cases.filter(({ id }) => byCase.get(id)?.some(({ run }) => is(run)));
  const changed = (how: "worse" | "better") => {
    const ids = new Set(changes.flatMap((one) => one[how].map((change) => change.case)));
    return cases.filter(({ id }) => ids.has(id));
  };
  const filtered: Record<CaseFilter, typeof cases> = {
    all: cases,
    worse: changed("worse"),
    better: changed("better"),
    failing: hasRun(({ pass }) => !pass),
    unscored: hasRun(({ outcome }) => outcome !== "scored"),
  };
  const counts = schema.caseFilters.map((one) => [one, filtered[one].length]);
  return {
    ...headOf(found),
    baseline: baseline?.hash ?? null,
    changes: changes.map(({ hash, worse, better }) => {
      return { hash, worse: worse.length, better: better.length };
    }),
    counts: Object.fromEntries(counts) as Record<CaseFilter, number>,
    cases: filtered[filter].slice(0, limit).map(({ id, prompt, expected }) => ({
      ...{ id, prompt: shortened(prompt) },
      expected: expected === undefined ? null : shortened(JSON.stringify(expected)),
      runs: (byCase.get(id) ?? []).map(({ hash, run }) => ({ hash, ...shownRun(run) })),
    })),
  };
}

const shortened = (whole: string): string =>
  whole.length > longestShown ? `${whole.slice(0, longestShown).toWellFormed()}…` : whole;

function shownRun(run: CaseRun) {
  const { case: _, at: _at, unpriced: _unpriced, error, ...shown } = run;
  return { ...shown, error: error && { code: error.code, message: error.message } };
}
