import type { WaitMeta } from "../contract/contract.ts";
import { WorkflowError } from "../contract/error.ts";
import { show } from "../contract/show.ts";

/** `differences`: one text for each restart with a different end. */
export const replayDiffers = (differences: string[]): WorkflowError =>
  new WorkflowError({
    code: "REPLAY_DIFFERS",
    message: `a restart ends differently: ${differences.join("; ")}`,
    hint: "make the next step depend only on the prompt and the steps before it",
    details: differences,
  });

/** `hint` explains how to reach the expected end. */
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

/** A thread refuses an answer of a test. `number`: the number of the answer among all answers, from 1. */
export const badTestAnswer = (
  number: number,
  { for: what, schema }: WaitMeta,
  { code, kind, message }: WorkflowError,
): WorkflowError => {
  const asked = schema === undefined ? "" : `, whose schema is ${JSON.stringify(schema)}`;
  return new WorkflowError({
    ...{ code, kind, message },
    hint: `make answer ${number} of the test fit the question ${show(what)}${asked}`,
  });
};

export const badReturnValue = (reason: string): WorkflowError =>
  WorkflowError.failed("BAD_RESULT", `the return value: ${reason}`);
