import { WorkflowError } from "@uncaged/workflow/host";

/* The errors of runs of agent graphs. Texts with a capital and a full stop come from the documented API. */

export const fileMissing = (): WorkflowError =>
  WorkflowError.missing(
    "FILE_MISSING",
    "Default workflow not found",
    "put a graph into .config/default-workflow.json of PROJECT_ROOT, or of the storage root",
  );

export const fileUnreadable = (file: string, cause: unknown): WorkflowError =>
  WorkflowError.failed("FILE_UNREADABLE", `can't read ${file}`, "let the server read it", cause);

export const fileInvalid = (file: string, problem: string): WorkflowError =>
  WorkflowError.usage("FILE_INVALID", `${file} is invalid: ${problem}`, "fix the file");

export const graphInvalid = (message: string, details: string[]): WorkflowError =>
  new WorkflowError({
    code: "GRAPH_INVALID",
    kind: "usage",
    message,
    hint: "fix the graph and try again",
    details,
  });

export const graphNotRun = (
  { message, hint }: { message: string; hint?: string },
  cause: unknown,
): WorkflowError =>
  new WorkflowError(
    { code: "GRAPH_NOT_RUN", message: "Failed to execute workflow", hint, details: [message] },
    { cause },
  );

export const runResuming = (): WorkflowError =>
  WorkflowError.failed(
    "RUN_RESUMING",
    "Run is already being resumed. Use a single resume endpoint per run.",
    "follow it: GET /api/run/:runId/events",
  );

export const runNotWaiting = (): WorkflowError =>
  WorkflowError.failed(
    "RUN_NOT_WAITING",
    "Run is not waiting for input.",
    "see its state: GET /api/run/:runId",
  );

export const runNotFailed = (status: string): WorkflowError =>
  WorkflowError.failed(
    "RUN_NOT_FAILED",
    "Run has not failed.",
    `its thread is ${status}; send a nodeId to start a new run at that node`,
  );

export const nodeNotRun = (nodeId: string): WorkflowError =>
  WorkflowError.missing(
    "NODE_NOT_RUN",
    "Node has not run.",
    `the run has no step of ${JSON.stringify(nodeId).slice(0, 200)}`,
  );

export const staleAnswer = (question: number, open: number): WorkflowError =>
  WorkflowError.failed(
    "STALE_ANSWER",
    `The answer is to question ${question}, but question ${open} is open.`,
    "read the open question: GET /api/run/:runId",
  );

export const badRunId = (): WorkflowError =>
  WorkflowError.usage("BAD_RUN_ID", "Invalid runId", "give a run's whole id, or its digits");

export const runNotFound = (message = "Run not found"): WorkflowError =>
  WorkflowError.missing("RUN_NOT_FOUND", message, "list them: GET /api/threads");
