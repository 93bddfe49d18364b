/**
 * Runs evals and reads their results.
 *
 * @module
 */

// Cases
export { type EvalCase, readDataset } from "../run/dataset.ts";
export {
  type EvalThread,
  type Judgement,
  type Score,
  type Scorer,
  ScorerError,
  scoreOf,
} from "../run/score.ts";
export { type EvalChange, type EvalSetup, runEval } from "../run/run.ts";

// Results
export {
  EvalRecord,
  type EvalHead,
  type EvalPlace,
  type EvalView,
  listEvals,
  readEval,
} from "../run/record.ts";
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
} from "../run/compare.ts";
