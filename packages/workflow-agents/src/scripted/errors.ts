import type { WorkflowError } from "@uncaged/workflow";
import { failure } from "../run/error.ts";

/* The errors of scripts that lack an answer. */

const noAnswer = (message: string, hint?: string): WorkflowError =>
  failure("NO_ANSWER", message, hint);

/** Returns the error for a system prompt that the script does not have. `what` is the part to add to the script. */
export const noAnswerFor = (system: string, what: string): WorkflowError =>
  noAnswer(
    `missing answer in the script for the system prompt that begins ${JSON.stringify(system.slice(0, 60))}`,
    `add ${what}`,
  );

export const turnsEnded = (system: string): WorkflowError =>
  noAnswer(
    `the script ends too early for the system prompt that begins ${JSON.stringify(system.slice(0, 60))}`,
    "add a turn to the scripted provider's script",
  );

export const stepsEnded = (step: number): WorkflowError =>
  noAnswer(`the script ends before step ${step}`, "add an answer to the scripted agent's script");

export const toolNotFound = (wanted: string, names: readonly string[]): WorkflowError =>
  noAnswer(`the script calls ${wanted}, but the tools are: ${names.join(", ") || "none"}`);
