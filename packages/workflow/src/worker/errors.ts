import { WorkflowError } from "../contract/error.ts";

const refused = (code: string, threadId: string, problem: string): WorkflowError =>
  WorkflowError.failed(
    code,
    `${threadId} ${problem}`,
    `see its state: uncaged-workflow thread ${threadId}`,
  );

export const alreadyRunning = (threadId: string): WorkflowError =>
  refused("ALREADY_RUNNING", threadId, "is already running");

export const drivenElsewhere = (threadId: string): WorkflowError =>
  refused("ALREADY_RUNNING", threadId, "is driven by another process");

export const ofOtherVersion = (threadId: string): WorkflowError =>
  refused("THREAD_EXISTS", threadId, "is a thread of another version");

/** `state`: for example `interrupted`. */
export const notRunning = (threadId: string, state: string): WorkflowError =>
  WorkflowError.failed(
    "NOT_RUNNING",
    `${threadId} is not running: it is ${state}`,
    "list the running threads: uncaged-workflow ps",
  );

export const waitsForAnswer = (threadId: string, hint: string): WorkflowError =>
  WorkflowError.failed("WAITING", `${threadId} waits for an answer`, hint);

export const threadStepNotFound = (
  threadId: string,
  steps: number,
  wanted: number,
): WorkflowError =>
  WorkflowError.missing(
    "NO_SUCH_STEP",
    `the thread ${threadId} has ${steps} steps, not ${wanted}`,
    `see them: uncaged-workflow thread ${threadId}`,
  );

/** A thread's start record has the SHA-256 of another bundle with the same hash. */
export const bundleSwapped = (log: string, hash: string): WorkflowError =>
  WorkflowError.failed(
    "BUNDLE_CHANGED",
    `${log}:1: the thread was started with another bundle of the hash ${hash}`,
    "see which record of the bundle differs: uncaged-workflow verify",
  );

export const bundleExited = (exitCode: string): WorkflowError =>
  WorkflowError.failed(
    "BUNDLE_EXITED",
    `the bundle called process.exit(${exitCode})`,
    "return {returnCode, summary} instead",
  );

/** The worker is exiting: the client sends the request to another worker. */
export const workerClosing = (): WorkflowError =>
  WorkflowError.failed("WORKER_CLOSING", "the worker is closing", "try again");

export const unknownRequest = (method: string, path: string): WorkflowError =>
  WorkflowError.usage(
    "NO_SUCH_REQUEST",
    `unknown request ${method} ${path}`,
    "wait until the worker's threads have ended: it may have another version",
  );

/** A fork answers step `number` of its source, which is not a question. `question` is the number of a question. */
export function notAQuestion(
  threadId: string,
  number: number,
  question: number | null,
): WorkflowError {
  const what =
    number === 0 ? "the fork does not keep a question" : `step ${number} is not a question`;
  const [more, hint] =
    question === null
      ? ["", `see the steps: uncaged-workflow thread ${threadId} --steps`]
      : [
          `; the question is step ${question}`,
          `answer it: uncaged-workflow fork ${threadId} --at-step ${question} --input …`,
        ];
  return WorkflowError.usage("NOT_A_QUESTION", `${what}${more}`, hint);
}

/** A fork keeps an answer without its question. `number` is the number of the answer, from 1. */
export const questionNotKept = (number: number): WorkflowError =>
  WorkflowError.usage(
    "QUESTION_NOT_KEPT",
    `step ${number} answers step ${number - 1}, which the fork does not keep`,
    "keep both, or neither",
  );
