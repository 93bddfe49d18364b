// Entry point 3: evals, for programs that run and show them. Loads no model's client.

// What is run
export { type EvalCase, parseFixture, readDataset } from "../evals/dataset.ts";
export {
  type EvalThread,
  type Judgement,
  type Score,
  type Scorer,
  scoreOf,
} from "../evals/score.ts";
export { type EvalChange, type EvalSetup, runEval } from "../evals/run.ts";

// What it came to
export {
  EvalRecord,
  type EvalHead,
  type EvalPlace,
  type EvalView,
  listEvals,
  readEval,
} from "../evals/record.ts";
export {
  type CaseMean,
  type CaseChange,
  type CaseRun,
  type Changes,
  changesOf,
  type Outcome,
  outcomes,
  summaryOf,
  type VersionRuns,
  type VersionSummary,
} from "../evals/compare.ts";
