import { ExecutorError } from "../error/error.ts";

/* The errors of runs and of decisions about their steps. */

/** A run without a question, or a plan in a phase without a question. */
export const noDecision = (id: string, phase?: string): ExecutorError =>
  new ExecutorError(`${id} is ${phase ? `${phase} and ` : ""}not waiting for a decision`);

/** A decision about another step than the step in the run's question. */
export const otherStep = (runId: string, wanted: string, given: string): ExecutorError =>
  new ExecutorError(`${runId} is waiting for a decision about ${wanted}, not about ${given}`);

export const staleDecision = (runId: string): ExecutorError =>
  new ExecutorError(`${runId} is waiting for another decision now`);

export const notDecision = (text: string, known: readonly string[]): ExecutorError =>
  new ExecutorError(`${JSON.stringify(text.slice(0, 60))} is not a decision`, {
    kind: "usage",
    hint: `use one of ${known.join(", ")}`,
  });

export const otherRun = (workflowId: string, runId: string): ExecutorError =>
  new ExecutorError(`${workflowId} already has an unfinished run: ${runId}`, {
    hint: `wait for it, or cancel it: uncaged-workflow plan cancel ${workflowId}`,
  });

/** Another process holds the lock for starting runs for too long. */
export const startsLocked = (home: string): ExecutorError =>
  new ExecutorError(`${home}: another process is still starting runs`, {
    hint: "try again; the run stays queued",
  });

export const neverConfirmed = (workflowId: string): ExecutorError =>
  new ExecutorError(`${workflowId} has no bundle: it was never confirmed`);
