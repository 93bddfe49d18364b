import {
  type CaseRun,
  changesOf,
  type EvalPlace,
  type EvalView,
  listEvals,
  readEval,
  summaryOf,
} from "@uncaged/workflow-agents/evals";
import { z } from "@hono/zod-openapi";
import { show, WorkflowError } from "@uncaged/workflow/host";
import * as schema from "../schema/eval.ts";
import { text } from "../schema/value.ts";
import { Routes } from "./route.ts";

/** A page shows where a case begins: the whole of it is in its threads. */
const longestShown = 300;

export function evalRoutes(place: EvalPlace) {
  const routes = new Routes("Evals");
  routes.add("GET /evals", {
    summary: "List the evals, newest first",
    answer: ["The evals, each with its versions.", z.array(schema.evalRowSchema)],
    run: () => listEvals(place).map((one) => ({ ...headOf(one), cases: one.cases.length })),
  });
  routes.add("GET /evals/{id}", {
    summary: "Show an eval: its versions beside each other, and each case with its threads",
    params: z.object({ id: text.describe("The eval's id.") }),
    query: z.object({
      baseline: text
        .optional()
        .describe("The hash of the version to compare with; else the first."),
    }),
    answer: ["The eval.", schema.evalSchema],
    run({ params: { id }, query: { baseline } }) {
      const found = readEval(place, id);
      if (!found) {
        const hint = "run one: uncaged-workflow eval <workflow> <dataset> --score <file>";
        throw WorkflowError.missing("EVAL_NOT_FOUND", `there is no eval ${show(id)}`, hint);
      }
      return compared(found, baseline);
    },
  });
  return routes.app;
}

const headOf = ({ id, createdAt, dataset, scorer, versions }: EvalView) => ({
  ...{ id, createdAt, dataset, scorer },
  versions: versions.map((version) => ({ ...summaryOf(version), started: version.started })),
});

function compared(found: EvalView, wanted: string | undefined) {
  const { versions, cases } = found;
  const baseline = versions.find(({ hash }) => hash === wanted) ?? versions[0];
  if (wanted !== undefined && baseline?.hash !== wanted) {
    const message = `the eval ${found.id} has no version ${show(wanted)}`;
    throw WorkflowError.missing("VERSION_NOT_FOUND", message, "choose one of its versions");
  }
  const others = versions.filter((version) => version !== baseline);
  const all = versions.flatMap(({ hash, runs }) => runs.map((run) => ({ hash, run })));
  const byCase = Map.groupBy(all, ({ run }) => run.case);
  return {
    ...headOf(found),
    baseline: baseline?.hash ?? null,
    changes: others.map((version) => {
      const { hash, worse, better } = changesOf(baseline ?? version, version);
      const ids = (of: readonly { case: string }[]) => of.map((one) => one.case);
      return { hash, worse: ids(worse), better: ids(better) };
    }),
    cases: cases.map(({ id, prompt, expected }) => ({
      ...{ id, prompt: shortened(prompt) },
      expected: expected === undefined ? null : shortened(JSON.stringify(expected)),
      runs: (byCase.get(id) ?? []).map(({ hash, run }) => ({ hash, ...shownRun(run) })),
    })),
  };
}

const shortened = (whole: string): string =>
  whole.length > longestShown ? `${whole.slice(0, longestShown).toWellFormed()}…` : whole;

function shownRun(run: CaseRun) {
  const { case: _, at: _at, unpriced: _unpriced, ...shown } = run;
  return shown;
}
