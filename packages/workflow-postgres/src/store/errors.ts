import { WorkflowError } from "@uncaged/workflow/host";

/* The errors of the thread store in PostgreSQL. */

export const storeClosed = (): WorkflowError =>
  WorkflowError.failed("STORE_CLOSED", "the store is closed", "open it again");

/** `line` counts from 1. `reason` names the damage. */
export const logDamaged = (place: string, line: number, reason: string): WorkflowError =>
  WorkflowError.failed(
    "LOG_CORRUPT",
    `${place}, line ${line}: ${reason}`,
    "restore the database from a backup",
  );

export const badCursor = (threadId: string, cursor: string, log: string): WorkflowError =>
  WorkflowError.usage(
    "BAD_POSITION",
    `${threadId}: invalid cursor ${JSON.stringify(cursor)} of the ${log} log`,
  );

/** `bytes` and `most` are in bytes. */
export const recordTooLong = (threadId: string, bytes: number, most: number): WorkflowError =>
  WorkflowError.failed(
    "RECORD_TOO_LARGE",
    `${threadId}: a record of ${bytes} bytes exceeds the limit of ${most} bytes`,
    "put large data into a file and give its path",
  );
