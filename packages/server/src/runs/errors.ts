import { WorkflowError } from "@uncaged/workflow/host";

/* The errors of runs of step workflows. */

export const neitherWorkflow = (): WorkflowError =>
  WorkflowError.usage(
    "BAD_REQUEST",
    "give either workflowName or workflow",
    '{"workflowName": "review", "params": {}}',
  );

export const unknownCheckpoint = (): WorkflowError =>
  WorkflowError.usage(
    "BAD_REQUEST",
    "the checkpoint belongs to no known run, and workflowName is missing",
    "name the workflow to run: workflowName",
  );

export const noAnswerToken = (): WorkflowError =>
  WorkflowError.usage(
    "NO_ANSWER_TOKEN",
    "missing token",
    'send {"token", "payload"}: the event pause_start and the status have the token',
  );

export const runMissing = (code: string, message: string): WorkflowError =>
  WorkflowError.missing(code, message, "give the id of an existing run");
