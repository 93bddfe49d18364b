import { WorkflowError } from "../contract/error.ts";
import { durationHint } from "../contract/duration.ts";
import { show } from "../contract/show.ts";

/* Errors of durable workflows. The logs of threads record them. */

const returned = (shape: string): string =>
  `return a string, {${shape}} or a value that survives JSON`;

export const badResult = (reason: string): WorkflowError =>
  WorkflowError.failed("BAD_RESULT", reason, returned("returnCode, summary, value?"));

const badStepValue = (
  role: string,
  problem: string,
  hint = returned("content, meta"),
  cause?: unknown,
): WorkflowError =>
  WorkflowError.failed("BAD_STEP_VALUE", `step ${show(role)} ${problem}`, hint, cause);

export const reservedMeta = (role: string, key: string): WorkflowError =>
  badStepValue(role, `returned the reserved key meta.${key}`);

export const valueNotJson = (role: string, reason: string): WorkflowError =>
  badStepValue(role, `returned a value that can't be recorded: ${reason}`);

/** A recorded step with a JSON value whose content is not JSON. */
export const contentNotJson = (role: string, cause: unknown): WorkflowError =>
  badStepValue(
    role,
    "has a JSON value, but its content is not JSON",
    "make the content JSON, or fork before this step",
    cause,
  );

export const fixtureUnsupported = (): WorkflowError =>
  WorkflowError.failed(
    "FIXTURE_UNSUPPORTED",
    "this version does not support fixtures",
    "build the workflow again with createRoleModerator or durable, or run it without a fixture",
  );

/** A fixture without the n-th execution of a role, counted from 1. */
export const noRecordedAnswer = (threadId: string, role: string, n: number): WorkflowError =>
  WorkflowError.failed(
    "NO_RECORDED_ANSWER",
    `the fixture of ${threadId} has no answer for execution ${n} of role ${show(role)}`,
    "use the fixture of a thread with the same path, or run the role without a fixture",
  );

/** `taken`: the number of recorded steps that the workflow has repeated. `did`: its next action. */
export const diverged = (taken: number, found: string, did: string): WorkflowError =>
  WorkflowError.failed(
    "DIVERGED",
    `step ${taken + 1} of the log is ${found}, but the workflow ${did}`,
    "do not use the clock, random numbers, the environment or files between steps, or fork before this step",
  );

const notRun = (role: string, problem: string): WorkflowError =>
  WorkflowError.failed(
    "STEP_NOT_RUN",
    `step ${show(role)} ${problem}`,
    "write yield* before it, or pass it to step.all",
  );

export const stepNotRun = (role: string): WorkflowError =>
  notRun(role, "was described but never run");

/** A call of `step` as the operand of `await`, `yield` or `return`. */
export const stepAwaited = (role: string): WorkflowError =>
  notRun(role, "needs yield*, not await, yield or return");

export const stepTimeout = (role: string, ms: number): WorkflowError =>
  WorkflowError.failed("STEP_TIMEOUT", `step ${show(role)} took longer than ${ms} ms`);

export const badStepOptions = (role: string, problem: string, hint: string): WorkflowError =>
  WorkflowError.usage("BAD_STEP_OPTIONS", `step ${show(role)}: ${problem}`, hint);

export const badSleep = (time: string): WorkflowError =>
  WorkflowError.usage(
    "BAD_SLEEP",
    `step.sleep: invalid time ${time}`,
    `${durationHint}, or a Date`,
  );
