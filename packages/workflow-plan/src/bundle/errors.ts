import { WorkflowError } from "@uncaged/workflow";
import { ExecutorError } from "../error/error.ts";

/* The errors of a plan that runs on recorded answers. */

export const noRecordedAnswer = (
  threadId: string,
  stepId: string,
  attempt: number,
): WorkflowError =>
  WorkflowError.failed(
    "NO_RECORDED_ANSWER",
    `the fixture of ${threadId} has no answer for attempt ${attempt} of step ${stepId}`,
    "use the fixture of a thread that took this path, or no fixture to execute the step",
  );

/** A failed attempt in the fixture. `error` is the recorded text. */
export const recordedFailure = (error: string): ExecutorError => new ExecutorError(error);
