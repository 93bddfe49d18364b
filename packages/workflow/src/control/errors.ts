import { WorkflowError } from "../contract/error.ts";

export const badAnswerer = (at: string, problem: string, kinds: readonly string[]): WorkflowError =>
  WorkflowError.usage(
    "BAD_REQUEST",
    `${at}: ${problem}`,
    `give {"kind", "name"?} with one of the kinds ${kinds.join(", ")}`,
  );

export const badRequest = (problem: string): WorkflowError =>
  WorkflowError.usage(
    "BAD_REQUEST",
    problem,
    "use the same version of uncaged-workflow for the client and the worker",
  );

export const requestNotJson = (reason: string): WorkflowError =>
  WorkflowError.usage(
    "VALUE_NOT_JSON",
    reason,
    "give values that JSON can hold, less deeply nested",
  );
