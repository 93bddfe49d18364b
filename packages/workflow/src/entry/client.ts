/**
 * A host over HTTP, for every runtime with `fetch`: Node, Deno, Bun, browsers and workers. Does not import modules of a
 * runtime.
 *
 * @module
 */

export { openRemoteHost, type RemoteHostOptions } from "../remote/host.ts";
export type { LinkOptions } from "../remote/link.ts";
export type { ReadFile, ReadyBundle, UploadOptions } from "../remote/upload.ts";

// Errors
export { isWorkflowError, WorkflowError } from "../contract/error.ts";

// Computed from records
export { follow, retryOptions, settled, threadDiff } from "../host/rules.ts";

// The host
export type {
  Host,
  HostChange,
  Observed,
  StartedThread,
  StartOptions,
  ThreadCommand,
} from "../host/host.ts";
export type { ThreadRef, ThreadRow, ThreadView } from "../record/thread.ts";
