import { TriggerError } from "../error/error.ts";

/* The errors of a check script. */

export const outputTooLong = (maxBytes: number): TriggerError =>
  new TriggerError(`the check printed more than ${maxBytes} bytes`);

/** `reason`: of the limit. */
export const checkLimited = (reason: string): TriggerError => new TriggerError(reason);

/** `problem`: how it ended. `stderr`: the end of its messages. */
export const checkFailed = (problem: string, stderr: string): TriggerError =>
  new TriggerError(`the check ${problem}${stderr && `: ${stderr}`}`);

export const checkNotRun = (reason: string, cause: unknown): TriggerError =>
  new TriggerError(`the check can't be run: ${reason}`, { cause });
