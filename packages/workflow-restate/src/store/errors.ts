import { WorkflowError } from "@uncaged/workflow/host";

/* The errors of the thread store on a cluster. */

export const recordsDamaged = (threadId: string): WorkflowError =>
  WorkflowError.failed(
    "LOG_CORRUPT",
    `the records of ${threadId} in the cluster are damaged`,
    "find the damaged records: uncaged-workflow verify",
  );

export const changesLost = (): WorkflowError =>
  WorkflowError.failed(
    "CHANGES_LOST",
    "too many threads have changed since the cluster was last asked",
    "watch again and reload the threads",
  );

export const recordTooLarge = (bytes: number): WorkflowError =>
  WorkflowError.failed(
    "RECORD_TOO_LARGE",
    `a record of ${(bytes / 1048576).toFixed(1)} MiB is too large`,
    "put large data into a file and give its path",
  );
