import { WorkflowError } from "@uncaged/workflow/host";

/* The errors of a call to a cluster. */

export const startPending = (threadId: string, isOpen: boolean): WorkflowError =>
  WorkflowError.failed(
    "START_PENDING",
    `another start of ${threadId} ${isOpen ? "has not ended yet" : "replaced this start"}`,
    "try again",
  );

/** A value of a service's object that is not JSON. */
export const badState = (object: string, name: string, cause: unknown): WorkflowError =>
  WorkflowError.failed(
    "LOG_CORRUPT",
    `${object} in the cluster: its ${name} is not valid JSON`,
    "restore it from a backup",
    cause,
  );

export const callTimeout = (origin: string, cause: unknown): WorkflowError =>
  WorkflowError.failed(
    "NO_WORKER",
    `no worker answered by ${origin} in time`,
    "check that a worker runs, and that the servers have free disk space",
    cause,
  );

export const unreachableCluster = (origin: string, cause: unknown): WorkflowError =>
  WorkflowError.failed(
    "NO_CLUSTER",
    `${origin} can't be reached`,
    "see whether the cluster runs: uncaged-workflow cluster status",
    cause,
  );

export const messageTooLarge = (): WorkflowError =>
  WorkflowError.failed(
    "RECORD_TOO_LARGE",
    "the message is too large for the cluster",
    "put large data into a file and give its path",
  );

export const unknownService = (service: string, reason: string): WorkflowError =>
  WorkflowError.failed(
    "NO_WORKER",
    `the cluster has no service ${service}: ${reason}`,
    "register a worker: uncaged-workflow worker --host URL --port N",
  );

export const callFailed = (call: string, status: number, reason: string): WorkflowError =>
  WorkflowError.failed(
    "CALL_FAILED",
    `${call}: the cluster answered ${status}: ${reason}`,
    "see the log of the worker and of the cluster",
  );
