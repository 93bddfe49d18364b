import { WorkflowError } from "@uncaged/workflow/host";

/* The errors of a host on a cluster. */

export const registryBusy = (): WorkflowError =>
  WorkflowError.failed(
    "REGISTRY_LOCKED",
    "other commands keep changing the registry of the cluster",
    "try again",
  );

export const descriptorDamaged = (hash: string): WorkflowError =>
  WorkflowError.failed(
    "BAD_DESCRIPTOR",
    `bundle/${hash}: its descriptor is damaged`,
    "add the original file again to restore it: uncaged-workflow add <name> <file>",
  );

/** A start without a reply, or with a late reply: the thread may still start. */
export const startInDoubt = ({ code, message }: WorkflowError, threadId: string): WorkflowError =>
  WorkflowError.failed(
    code,
    `${message}; the thread ${threadId} may or may not start`,
    `start it again as the same thread: --thread-id ${threadId}`,
  );

export const logBroken = (threadId: string): WorkflowError =>
  WorkflowError.failed(
    "LOG_CORRUPT",
    `the log of ${threadId} is damaged`,
    "see where: uncaged-workflow verify",
  );

/** A thread that can't move, because one `part` exceeds a cluster's limit. Lengths are in bytes. */
export const tooLargeToMove = (
  threadId: string,
  part: string,
  { length, limit }: { length: number; limit: number },
): WorkflowError =>
  WorkflowError.failed(
    "RECORD_TOO_LARGE",
    `${threadId} has ${part} of ${(length / 1048576).toFixed(1)} MiB; a cluster accepts up to ${limit / 1048576} MiB`,
    "it stays where it is",
  );

export const withoutSums = (threadId: string): WorkflowError =>
  WorkflowError.failed(
    "NO_SUMS",
    `the log of ${threadId} has no checksums: an older version wrote it`,
    `move a fork of it: uncaged-workflow fork ${threadId}`,
  );

export const otherThread = (threadId: string): WorkflowError =>
  WorkflowError.failed(
    "THREAD_EXISTS",
    `the cluster has another thread ${threadId}, with other records`,
    `it stays where it is; compare them: uncaged-workflow thread ${threadId}`,
  );

export const moveLost = (threadId: string): WorkflowError =>
  WorkflowError.failed(
    "CALL_FAILED",
    `the cluster lost its part of the moving thread ${threadId}`,
    "repeat the move to finish it",
  );
