import { WorkflowError } from "../contract/error.ts";
import type { Root } from "./paths.ts";

/** Error for a closed store. */
export const closed = (root: Root): WorkflowError =>
  WorkflowError.failed("STORE_CLOSED", `${root}: the store is closed`, "open it again");

/** Error for a thread whose bundle's threads are held by another process. */
export const held = (threadId: string): WorkflowError =>
  WorkflowError.failed(
    "THREAD_CLAIMED",
    `${threadId}: another process drives the threads of its bundle`,
    "see which: uncaged-workflow ps",
  );

/** Codes of refusals to continue a log that do not come from the disk. */
export const refusals: ReadonlySet<string> = new Set([
  "THREAD_NOT_FOUND",
  "LOG_CORRUPT",
  "NEWER_LOG",
  "THREAD_MOVED",
]);
