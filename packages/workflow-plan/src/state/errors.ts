import { ExecutorError } from "../error/error.ts";

/* The errors of subtasks. */

/** A subtask that the step `by` can't add. */
export const invalidSubtask = (id: unknown, by: string, problem: string): ExecutorError =>
  new ExecutorError(`invalid subtask ${JSON.stringify(id)} of ${by}: ${problem}`);
