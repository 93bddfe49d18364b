import { ExecutorError } from "../error/error.ts";

/* The errors of a tool call that a step sends to its run. */

export const callTooLong = (): ExecutorError => new ExecutorError("the call is longer than 1 MiB");

/** A call that the run refuses. `reason` is the run's text. */
export const callRefused = (reason: string): ExecutorError => new ExecutorError(reason);

/** A call that gets the answer to another kind of message. */
export const otherAnswer = (): ExecutorError => new ExecutorError("the call has no answer");

export const noAnswer = (): ExecutorError =>
  new ExecutorError("no answer: the step has ended, or its process is gone");
