import { WorkflowError } from "@uncaged/workflow";
import { ExecutorError } from "../error/error.ts";

/* The errors of a run of a plan. */

/** A run in which none of the remaining steps (`ids`) can start. */
export const stuck = (ids: readonly string[]): ExecutorError =>
  new ExecutorError(
    `no step can start, because these steps depend on missing steps: ${ids.join(", ")}`,
  );

export const outOfRounds = (maxRounds: number): WorkflowError =>
  WorkflowError.failed(
    "ROUND_LIMIT",
    `the run has reached its limit of ${maxRounds} records`,
    "retry it, or start it with more rounds",
  );

export const tooManyNotices = (limit: number): ExecutorError =>
  new ExecutorError(`the run has reached its limit of ${limit} notices`);
