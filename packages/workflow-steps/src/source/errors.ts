import type { WorkflowError } from "@uncaged/workflow";
import { failure, failures, SUPPORTED_VERSIONS } from "../document/document.ts";

/* The errors of a step workflow's files. */

const needs = `a step workflow has "version" ("${SUPPORTED_VERSIONS[0]}" to "${SUPPORTED_VERSIONS.at(-1)}"), "name", "registry" and an array "steps"; an agent graph has arrays "nodes" and "connections"`;

export const notSteps = (file: string): WorkflowError =>
  failure("STEPS_INVALID", `${file}:1:1: not a step workflow: missing version and steps`, needs);

/** `isOurs` is true if the document is meant as a step workflow. */
export const invalidSteps = (errors: readonly string[], isOurs: boolean): WorkflowError =>
  failures("STEPS_INVALID", errors, isOurs ? "fix the workflow and try again" : needs);

/** `by` is the file whose step names the path. */
export const unreadableChild = (
  path: string,
  step: string,
  by: string,
  cause?: unknown,
): WorkflowError =>
  failure(
    "SUBFLOW_MISSING",
    `${by}: ${step}: can't read the workflow ${path}`,
    "give a path relative to the file that names it or to the project's folder, or a registered name",
    { cause },
  );

const fewer = "remove a step that runs one of these workflows";

/** `way` has the paths from the first document to the repeated document. */
export const childCycle = (way: readonly string[]): WorkflowError =>
  failure("SUBFLOW_CYCLE", `${way.join(" runs ")}: a workflow can't run itself`, fewer);

export const childrenTooDeep = (way: readonly string[], most: number): WorkflowError =>
  failure("SUBFLOW_TOO_DEEP", `${way.join(" runs ")}: more than ${most} levels deep`, fewer);
