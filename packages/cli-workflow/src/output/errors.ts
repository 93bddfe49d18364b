import { WorkflowError } from "@uncaged/workflow/host";

/* The errors of writing output and of showing a thread. */

export const outputFailed = (reason: string): WorkflowError =>
  WorkflowError.failed(
    "OUTPUT_FAILED",
    `can't write the output: ${reason}`,
    "free space at the destination of stdout, or redirect it; the command's changes are kept",
  );

export const valueTooDeep = (cause: unknown): WorkflowError =>
  WorkflowError.failed(
    "VALUE_TOO_DEEP",
    "a value is nested too deeply to be shown",
    "no workflow can yield such a value: find the program that wrote the log",
    cause,
  );

export const threadRemoved = (threadId: string): WorkflowError =>
  WorkflowError.missing(
    "THREAD_NOT_FOUND",
    `the thread ${threadId} was removed while it was followed`,
  );
