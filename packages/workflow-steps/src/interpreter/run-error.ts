import { isWorkflowError, WorkflowError } from "@uncaged/workflow";
import { messageOf } from "../adapter/error.ts";
import { ParallelError } from "./parallel.ts";

/** A run that failed. `stepID` is the step that did; `cause` is what was thrown there. */
export class RunError extends WorkflowError {
  readonly stepID: string | null;

  constructor(stepID: string | null, cause: unknown) {
    const known = isWorkflowError(cause) ? cause : null;
    const said = messageOf(cause);
    const isNamed = stepID === null || said.startsWith(stepID);
    super(
      {
        code: known?.code ?? "STEP_FAILED",
        kind: "failed",
        message: isNamed ? said : `${stepID}: ${said}`,
        ...(known?.hint !== undefined && { hint: known.hint }),
        ...(known?.details && { details: known.details }),
      },
      { cause },
    );
    this.name = "RunError";
    this.stepID = stepID;
  }
}

/** The error that a run rejects with: a ParallelError is itself. */
export function runError(stepID: string | null, error: unknown): RunError | ParallelError {
  if (!(error instanceof ParallelError)) return new RunError(stepID, error);
  error.stepID = stepID;
  return error;
}
