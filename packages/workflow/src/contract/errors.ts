import { WorkflowError } from "./error.ts";
import { show } from "./show.ts";

/** `isDevice`: Windows reserves the name for a device. */
export const badName = (name: string, isDevice: boolean): WorkflowError =>
  WorkflowError.usage(
    "BAD_NAME",
    `invalid workflow name ${show(name)}${isDevice ? ": Windows reserves it" : ""}`,
    "use 1 to 64 letters, digits, dots, dashes and underscores, beginning with a letter or a digit and not ending with a dot",
  );

export const badThreadId = (id: string): WorkflowError =>
  WorkflowError.usage(
    "BAD_THREAD_ID",
    `${show(id)} is not a thread id`,
    "give a ULID: 26 digits and capital letters",
  );

export const badFixture = (problem: string): WorkflowError =>
  WorkflowError.usage(
    "BAD_FIXTURE",
    `invalid fixture: ${problem}`,
    "export a fixture: uncaged-workflow thread <id> --fixture",
  );

/** A question with `within` and `expiresAt`. */
export const twoDeadlines = (question: string): WorkflowError =>
  WorkflowError.usage(
    "BAD_WAIT",
    `the question for ${show(question)} has both within and expiresAt`,
    "give one of them",
  );

export const badDeadline = (question: string, within: string, hint: string): WorkflowError =>
  WorkflowError.usage(
    "BAD_WAIT",
    `the question for ${show(question)}: invalid within ${within}`,
    hint,
  );

/** A value that is not an answer, sent to a waiting generator. `waits` is the start of the message. */
export const noAnswer = (waits: string): WorkflowError =>
  WorkflowError.failed(
    "NO_ANSWER",
    `${waits} and was resumed without an answer`,
    "send the __input__ step with next(), or start the workflow again with that step",
  );
