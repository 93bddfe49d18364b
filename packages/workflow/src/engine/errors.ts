import type { WaitMeta } from "../contract/contract.ts";
import { WorkflowError } from "../contract/error.ts";
import { show } from "../contract/show.ts";
import { answerHint } from "../record/thread.ts";

const refused = (code: string, threadId: string, message: string): WorkflowError =>
  WorkflowError.failed(
    code,
    message,
    `see the question and the steps: uncaged-workflow thread ${threadId}`,
  );

/** `named` and `open` are the numbers of the questions' steps. */
export const staleAnswer = (threadId: string, named: number, open: number): WorkflowError =>
  refused(
    "STALE_ANSWER",
    threadId,
    `the answer is to the question of step ${named}, but the question of step ${open} is open`,
  );

export const wrongToken = (threadId: string, question: string): WorkflowError =>
  refused("ANSWER_TOKEN", threadId, `the answer's token does not match ${question}`);

/** `until` is the time when the question expired. */
export const lateAnswer = (threadId: string, question: string, until: string): WorkflowError =>
  refused(
    "ANSWER_LATE",
    threadId,
    `the answer is too late: ${question} could be answered until ${until}`,
  );

export const invalidAnswer = (threadId: string, wait: WaitMeta, problem: string): WorkflowError =>
  WorkflowError.failed(
    "ANSWER_INVALID",
    `invalid answer to ${wait.for}: ${problem}`,
    answerHint(threadId, { meta: wait }),
  );

export const notADecision = (question: string, given: string): WorkflowError =>
  WorkflowError.usage(
    "NOT_A_DECISION",
    `the answer to ${question} must be approve or reject, not ${show(given)}`,
    'answer with one of these words, or with {"decision": "reject", "note": "why"}',
  );

/** A thread that the worker is releasing. */
export const notLive = (threadId: string): WorkflowError =>
  refused("NOT_LIVE", threadId, "the worker is releasing the thread");

export const notWaiting = (threadId: string): WorkflowError =>
  refused("NOT_WAITING", threadId, `${threadId} is not waiting for an answer`);

/** A sleeping thread can be neither answered nor resumed. */
export const threadSleeps = (threadId: string, until: string): WorkflowError =>
  WorkflowError.failed(
    "SLEEPING",
    `${threadId} is sleeping until ${until}: it is not waiting for an answer`,
    `wait until then; see its steps: uncaged-workflow thread ${threadId}`,
  );

/** A step, from 1, that breaks a strict descriptor. */
export const stepRefused = (step: number, problem: string): WorkflowError =>
  WorkflowError.failed(
    "STEP_REFUSED",
    `step ${step}: ${problem}`,
    "make the role and the strict descriptor agree, then retry the thread",
  );

export const noGenerator = (): WorkflowError =>
  WorkflowError.failed(
    "NO_GENERATOR",
    "run did not return an async generator",
    "write it as: export const run = async function* (input, options) { … }",
  );
