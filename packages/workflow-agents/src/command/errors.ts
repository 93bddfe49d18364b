import type { WorkflowError } from "@uncaged/workflow";
import { failure, misuse } from "../run/error.ts";

/* The errors of command agents. `why` is the error that the command reported, or "". */

export const noCommandName = (): WorkflowError =>
  misuse(
    "BAD_COMMAND",
    "the argv of a command agent must begin with the command's name",
    "fix commandAgent's options",
  );

export const commandTimeout = (command: string, timeoutMs: number, why: string): WorkflowError =>
  failure(
    "COMMAND_TIMEOUT",
    `${command} was ended after ${timeoutMs} ms${why && `: ${why}`}`,
    "retry the thread, or raise the agent's timeoutMs",
  );

/**
 * Returns the error of a failed command. `how` describes the end of the process. `isLimit`: whether the command's
 * account has reached a limit.
 */
export const commandFailed = (
  command: string,
  { how, why, isLimit }: { how: string; why: string; isLimit: boolean },
): WorkflowError =>
  failure(
    "COMMAND_FAILED",
    `${command} ${how}${why && `: ${why}`}`,
    isLimit
      ? "retry the thread when the limit is reset, or give the role a fallback"
      : "see the thread's events, fix the cause, and retry the thread",
  );

export const commandSilent = (command: string, why: string): WorkflowError =>
  failure(
    "COMMAND_SAID_NOTHING",
    `${command} did not answer${why && `: ${why}`}`,
    "run it by hand in the thread's directory to see its output",
  );

export const outputTooLong = (most: number): WorkflowError =>
  failure(
    "COMMAND_SAID_TOO_MUCH",
    `the command printed more than ${most} characters and was ended`,
    "make it print less, or raise maxOutput",
  );
