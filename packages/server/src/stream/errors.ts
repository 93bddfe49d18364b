import { WorkflowError } from "@uncaged/workflow/host";

export const tooManyStreams = (most: number): WorkflowError =>
  WorkflowError.failed(
    "TOO_MANY_STREAMS",
    `${most} streams are open, which is the limit`,
    "close other pages and clients, or try again in a few seconds",
  );
