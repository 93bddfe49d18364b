import { WorkflowError } from "@uncaged/workflow/host";

/** An error of the thread store in PostgreSQL. `line` counts from 1. `reason` names the damage. */
export const logDamaged = (place: string, line: number, reason: string): WorkflowError =>
  WorkflowError.failed(
    "LOG_CORRUPT",
    `${place}, line ${line}: ${reason}`,
    "restore the database from a backup",
  );
