import type { WorkflowError } from "@uncaged/workflow";
import { failure } from "../document/document.ts";

/* The errors of threads of a step workflow. */

export const foreignStep = (number: number, role: string): WorkflowError =>
  failure(
    "NOT_STEPS",
    `step ${number} (${role}) was not made by a step workflow`,
    "continue from steps of a step workflow",
  );

export const roundedParam = (number: string): WorkflowError =>
  failure(
    "PARAMS_INVALID",
    `params: the number ${number} can't be kept exactly`,
    "write the number as a text in quotes",
  );

/** `run` counts the runs of the step from 1. */
export const noRecordedAnswer = (threadId: string, step: string, run: number): WorkflowError =>
  failure(
    "NO_RECORDED_ANSWER",
    `no answer for run ${run} of step ${step} found in the fixture of ${threadId}`,
    "give the case the fixture of a thread that took this path, or remove the fixture to execute the step",
  );

export const documentTooLong = (hash: string): WorkflowError =>
  failure(
    "DOCUMENT_TOO_LONG",
    `the step workflow of ${hash} is too long for the bundle's descriptor: more than 512 Ki characters`,
    "continue from its steps: uncaged-workflow fork <id> --at-step N",
  );

export const notStepWorkflow = (hash: string): WorkflowError =>
  failure(
    "NO_STEP_WORKFLOW",
    `the bundle ${hash} is not a step workflow`,
    "see a thread's steps: uncaged-workflow thread <id> --steps; continue from one: uncaged-workflow fork <id>",
  );

export const checkpointAhead = (steps: number, most: number): WorkflowError =>
  failure(
    "CHECKPOINT_INVALID",
    `invalid checkpoint: it has ${steps} steps, and the thread has ${most}`,
    "use a checkpoint of this thread",
  );
