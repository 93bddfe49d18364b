import type { WorkflowError } from "@uncaged/workflow";
import { failure, misuse } from "../run/error.ts";

/* The errors of reading a role's fields from an agent's answer. */

export const answerEmpty = (threadId: string): WorkflowError =>
  failure(
    "EMPTY_ANSWER",
    "the agent's answer is empty",
    `see what it did: uncaged-workflow logs ${threadId}; then retry, or ask for an answer in the prompt`,
  );

/** Returns the error for an answer that does not fit the schema. `message` has the problems on one line. */
export const answerUnfit = (
  threadId: string,
  message: string,
  details: readonly string[],
): WorkflowError =>
  failure(
    "EXTRACTION_FAILED",
    `the agent's answer does not fit the role's schema: ${message}`,
    `read the answer: uncaged-workflow logs ${threadId}; then make the prompt or the schema clearer, or retry`,
    { details },
  );

export const badSchema = (problem: string): WorkflowError =>
  misuse(
    "BAD_SCHEMA",
    `a role's schema can't be used: ${problem}`,
    "use z.object with JSON types: strings, numbers, booleans, lists, objects, enums, unions",
  );
