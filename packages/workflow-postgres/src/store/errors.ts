import { WorkflowError } from "@uncaged/workflow/host";

/** Damage in a log of a thread. `line` counts from 1. `reason` describes the damage. */
export const logDamaged = (place: string, line: number, reason: string): WorkflowError =>
  WorkflowError.failed(
    "LOG_CORRUPT",
    `${place}, line ${line}: ${reason}`,
    "restore the database from a backup",
  );
