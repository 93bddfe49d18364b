import { WorkflowError } from "@uncaged/workflow/host";

/* The errors of the database's registry, and of threads that move into or out of a database. */

export const registryBusy = (): WorkflowError =>
  WorkflowError.failed(
    "REGISTRY_LOCKED",
    "other commands keep changing the registry of the database",
    "try again",
  );

export const bundleMissing = (hash: string): WorkflowError =>
  WorkflowError.missing(
    "BUNDLE_MISSING",
    `the database has no bundle ${hash}`,
    "add the same file again, or push it from a storage root that has it",
  );

export const withoutSums = (threadId: string): WorkflowError =>
  WorkflowError.failed(
    "NO_SUMS",
    `the log of ${threadId} has no checksums: an older version wrote it`,
    `move a fork of it: uncaged-workflow fork ${threadId}`,
  );

/** A damaged log of a thread: the data log or the journal. */
export const logBroken = (threadId: string, log: string): WorkflowError =>
  WorkflowError.failed(
    "LOG_CORRUPT",
    `the ${log} of ${threadId} is damaged`,
    "see where: uncaged-workflow verify",
  );

export const threadExists = (threadId: string): WorkflowError =>
  WorkflowError.failed(
    "THREAD_EXISTS",
    `the database has another thread ${threadId}, which did not move from here`,
    `compare them, and fork the steps to keep: uncaged-workflow fork ${threadId}`,
  );

export const otherThread = (threadId: string): WorkflowError =>
  WorkflowError.failed(
    "THREAD_EXISTS",
    `the database has another thread ${threadId}, with other records`,
    `it stays where it is; compare them: uncaged-workflow thread ${threadId}`,
  );

export const movedAndRemoved = (threadId: string): WorkflowError =>
  WorkflowError.failed(
    "THREAD_MOVED",
    `${threadId} was removed from the host that it moved to`,
    `continue in a new thread: uncaged-workflow fork ${threadId}`,
  );
