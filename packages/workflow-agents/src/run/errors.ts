import type { WorkflowError } from "@uncaged/workflow";
import { durationHint } from "@uncaged/workflow/interpreter";
import { failure, misuse } from "./error.ts";

/* The errors of a run's directory and of a role's retry. */

/**
 * Returns the error for a thread without a directory. `need` is a clause with the reason, such as "a command needs
 * one".
 */
export const noCwd = (need: string): WorkflowError =>
  failure(
    "NO_CWD",
    `missing working directory of the thread: ${need}`,
    "start the thread from the command line, or set cwd in the options of run",
  );

const badRetry = (problem: string, hint: string): WorkflowError =>
  misuse("BAD_RETRY", `a role's retry: ${problem}`, hint);

export const unknownRetryOption = (name: string, known: readonly string[]): WorkflowError =>
  badRetry(`unknown option ${name}`, `use ${known.join(", ")}`);

export const invalidAttempts = (attempts: unknown, most: number): WorkflowError =>
  badRetry(
    `attempts can't be ${String(attempts)}`,
    `use a number from 1 to ${most}, which includes the first try`,
  );

export const invalidRetryTime = (name: string, value: unknown): WorkflowError =>
  badRetry(`${name} can't be ${String(value)}`, `${durationHint}, at most a day`);

export const invalidRetryOn = (): WorkflowError =>
  badRetry("on must be a list of codes or a function", 'such as ["rate_limit"], or a function');
