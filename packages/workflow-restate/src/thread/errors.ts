import { WorkflowError } from "@uncaged/workflow/host";

/* The refusals of a move to a cluster. */

export const threadExists = (threadId: string): WorkflowError =>
  WorkflowError.failed(
    "THREAD_EXISTS",
    `the cluster has another thread ${threadId}, which did not move from here`,
    `compare them, and fork the steps to keep: uncaged-workflow fork ${threadId}`,
  );

export const movedAndRemoved = (threadId: string): WorkflowError =>
  WorkflowError.failed(
    "THREAD_MOVED",
    `${threadId} was removed from the host that it moved to`,
    `continue in a new thread: uncaged-workflow fork ${threadId}`,
  );
