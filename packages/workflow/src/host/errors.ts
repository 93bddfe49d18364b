import { WorkflowError } from "../contract/error.ts";
import { isThreadId } from "../contract/names.ts";
import { show } from "../contract/show.ts";

/* The errors that all hosts share. */

export const threadExists = (threadId: string, host: string, difference: string): WorkflowError =>
  WorkflowError.failed(
    "THREAD_EXISTS",
    `${host} has another thread ${threadId}: ${difference}`,
    `compare both, and fork the one to keep; nothing was changed: uncaged-workflow fork ${threadId}`,
  );

export const nothingToRetry = (threadId: string, status: string, hint: string): WorkflowError =>
  WorkflowError.failed("NOTHING_TO_RETRY", `${threadId} is ${status}: nothing to retry`, hint);

/** An unfinished thread is removed only by force. */
export const threadOpen = (threadId: string, status: string): WorkflowError =>
  WorkflowError.failed(
    "THREAD_RUNNING",
    `${threadId} is ${status}`,
    `kill and remove it: uncaged-workflow thread rm ${threadId} --force`,
  );

/** A host without a trash can't restore a removed thread. */
export const notKept = (threadId: string): WorkflowError =>
  WorkflowError.missing(
    "NOT_IN_TRASH",
    `${isThreadId(threadId) ? threadId : show(threadId)} can't be restored: this host does not keep removed threads`,
    "restore it from a backup",
  );

export const corruptNotExported = (threadId: string): WorkflowError =>
  WorkflowError.failed(
    "LOG_CORRUPT",
    `the log of ${threadId} is corrupt: it can't be exported`,
    "fork it with the steps before the damage, and export the fork",
  );

/** A thread's file of values does not have a value at this byte position. */
export const valueNotFound = (threadId: string, at: number): WorkflowError =>
  WorkflowError.missing(
    "VALUE_NOT_FOUND",
    `${threadId}: no value found at byte ${at}`,
    `use the "at" of an event: uncaged-workflow logs ${threadId} --json`,
  );

export const sourceNotFound = (workflow: string, file: string): WorkflowError =>
  WorkflowError.missing(
    "NO_SUCH_SOURCE",
    `${workflow} was not built from a file ${show(file)}`,
    "leave out the file to read the bundle itself",
  );
