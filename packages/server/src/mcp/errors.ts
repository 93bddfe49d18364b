import { toErrorRecord, WorkflowError } from "@uncaged/workflow/host";
import { show } from "@uncaged/workflow/internal";

/* The errors of the MCP tools. */

export const tooManyCalls = (most: number): WorkflowError =>
  WorkflowError.failed(
    "TOO_MANY_CALLS",
    `${most} calls are in progress`,
    "wait for the results of earlier calls, then call again",
  );

export const resultTooLarge = (bytes: number, most: number): WorkflowError =>
  WorkflowError.failed(
    "RESULT_TOO_LARGE",
    `the result has ${bytes} bytes; the most is ${most}`,
    "ask for less: a smaller limit, or one thread or workflow",
  );

/** Returns an error in a tool's arguments. Its hint names the tool's schema, not the schema of an API request. */
export const badArguments = (found: WorkflowError): WorkflowError =>
  new WorkflowError({ ...toErrorRecord(found), hint: "see the inputSchema of the tool" });

export const badCursor = (cursor: string, threadId: string): WorkflowError =>
  WorkflowError.usage(
    "BAD_CURSOR",
    `invalid cursor ${show(cursor)}`,
    `use a cursor that get_thread returned for ${threadId}`,
  );

export const badTime = (name: string, text: string): WorkflowError =>
  WorkflowError.usage(
    "BAD_REQUEST",
    `${name}: invalid time ${show(text)}`,
    "give a time such as 2026-05-06T12:00:00Z",
  );

export const approvalNotAllowed = (threadId: string): WorkflowError =>
  WorkflowError.failed(
    "APPROVAL_NOT_ALLOWED",
    `${threadId}: this decision belongs to a person, and this server accepts no decisions from models`,
    `ask the user to decide: uncaged-workflow thread ${threadId}; or to start this server with --allow-approve`,
  );

export const isAsking = (threadId: string, decision: boolean): WorkflowError =>
  WorkflowError.failed(
    "WAITING",
    `${threadId} waits for an answer`,
    decision ? "ask the user to decide" : "answer it with answer_thread",
  );

export const questionRequired = (threadId: string, question: number): WorkflowError =>
  WorkflowError.usage(
    "QUESTION_REQUIRED",
    "a decision needs the number of its question",
    `read the question with get_thread, then answer ${threadId} with "question": ${question}`,
  );

export const otherQuestion = (threadId: string, given: number, open: number): WorkflowError =>
  WorkflowError.failed(
    "STALE_ANSWER",
    `question ${given} of ${threadId} is not open; question ${open} is`,
    "read the open question with get_thread",
  );

export const noQuestion = (threadId: string, status: string): WorkflowError =>
  WorkflowError.failed(
    "NOT_WAITING",
    `${threadId} is ${status}: no question is open`,
    "read the thread with get_thread",
  );

export const bothGiven = (one: string, other: string): WorkflowError =>
  WorkflowError.usage(
    "BAD_REQUEST",
    `${one} and ${other} can't be used together`,
    "give one of them",
  );

export const noDocs = (): WorkflowError =>
  WorkflowError.missing(
    "NO_DOCS",
    "the documents are not installed",
    "install uncaged-workflow again",
  );

export const resourceNotFound = (uri: string): WorkflowError =>
  WorkflowError.missing(
    "RESOURCE_NOT_FOUND",
    `no resource ${show(uri)} found`,
    "list the resources",
  );
