import { type ErrorKind, WorkflowError } from "@uncaged/workflow";

/** An error of a step workflow: its code, what is wrong, and what to do. */
export const failure = (
  code: string,
  message: string,
  hint: string,
  { kind = "failed", ...more }: { kind?: ErrorKind; details?: string[] } = {},
): WorkflowError => new WorkflowError({ code, kind, message, hint, ...more });
