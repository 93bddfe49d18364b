import { WorkflowError } from "../contract/error.ts";

/* The errors of tests of workflows. */

/** `differences`: one for each restart that ends differently. */
export const replayDiffers = (differences: string[]): WorkflowError =>
  new WorkflowError({
    code: "REPLAY_DIFFERS",
    message: `a restart ends differently: ${differences.join("; ")}`,
    hint: "make the next step depend only on the prompt and the steps before it",
    details: differences,
  });

/** `hint`, on how to come to the expected end. */
export const replayNotCompleted = (
  end: { message: string; hint: string; status: string },
  expected: string,
): WorkflowError =>
  WorkflowError.failed(
    "REPLAY_NOT_COMPLETED",
    `${end.message}, not ${expected}`,
    `${end.hint}, or pass expect: "${end.status}"`,
  );

export const badStep = (number: number, problem: string): WorkflowError =>
  WorkflowError.failed("BAD_STEP", `step ${number}: ${problem}`);

export const badReturnValue = (reason: string): WorkflowError =>
  WorkflowError.failed("BAD_RESULT", `the return value: ${reason}`);
