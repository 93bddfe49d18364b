import { isWorkflowError, type WorkflowError } from "@uncaged/workflow";

/** Returns the WorkflowError that a function throws. */
export function errorOf(run: () => unknown): WorkflowError {
  try {
    run();
  } catch (error) {
    if (isWorkflowError(error)) return error;
    throw error;
  }
  throw new Error("no error was thrown");
}
