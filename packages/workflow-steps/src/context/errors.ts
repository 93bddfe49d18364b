import type { WorkflowError } from "@uncaged/workflow";
import { failure } from "../document/document.ts";

/* The errors of a step's context. */

export const undeclaredVariable = (name: string): WorkflowError =>
  failure(
    "VARIABLE_UNKNOWN",
    `no variable ${JSON.stringify(name)} found in the workflow`,
    "declare it in registry.vars",
  );

/** `action` is a verb, such as "abort". */
export const controlInThread = (action: string): WorkflowError =>
  failure(
    "THREAD_CONTROL",
    `a step of a thread can't ${action} its own run`,
    "use the command uncaged-workflow, or its client",
  );
