import { TriggerError } from "../error/error.ts";

/* The errors of a check script. */

export const outputTooLong = (maxBytes: number): TriggerError =>
  new TriggerError(`the check printed more than ${maxBytes} bytes`);

/** A check that exceeds a limit. `reason` names the limit. */
export const checkLimited = (reason: string): TriggerError => new TriggerError(reason);

/** A failed check. `problem` is a verb phrase about the end. `stderr` is the end of the script's stderr. */
export const checkFailed = (problem: string, stderr: string): TriggerError =>
  new TriggerError(`the check ${problem}${stderr && `: ${stderr}`}`);

export const checkNotRun = (reason: string, cause: unknown): TriggerError =>
  new TriggerError(`the check can't be run: ${reason}`, { cause });
