import { WorkflowError } from "../contract/error.ts";
import type { Root } from "./paths.ts";

/** The error that a store was closed. */
export const closed = (root: Root): WorkflowError =>
  WorkflowError.failed("STORE_CLOSED", `${root}: the store is closed`, "open it again");

/** The error that another process holds the threads of a thread's bundle. */
export const held = (threadId: string): WorkflowError =>
  WorkflowError.failed(
    "THREAD_CLAIMED",
    `${threadId}: another process drives the threads of its bundle`,
    "see which: uncaged-workflow ps",
  );

/** Why a log is not continued, where that has nothing to do with the disk. */
export const refusals: ReadonlySet<string> = new Set([
  "THREAD_NOT_FOUND",
  "LOG_CORRUPT",
  "NEWER_LOG",
  "THREAD_MOVED",
]);
