import type { WorkflowError } from "@uncaged/workflow";
import { failure, failures } from "../document/document.ts";

/* The errors of running steps. Errors of their calls are in ../step/errors.ts. */

/** A document with errors of the checker. */
export const invalidWorkflow = (errors: readonly string[], hint: string): WorkflowError =>
  failures("WORKFLOW_INVALID", errors, hint);

export const invalidChild = (id: string, path: string, errors: string[]): WorkflowError =>
  failure(
    "WORKFLOW_INVALID",
    `${id}: ${path} is not a valid workflow: ${errors[0]}`,
    "fix that workflow",
    { details: errors },
  );

export const badMode = (id: string, mode: unknown): WorkflowError =>
  failure("BAD_MODE", `${id}: invalid mode ${JSON.stringify(mode)}`, "use sync or validate");

/** `ms` is the timeout in milliseconds, without the time spent waiting for answers. */
export const childTimeout = (ms: number | null): WorkflowError =>
  failure("SUBFLOW_TIMEOUT", `the workflow was stopped after ${ms} ms`, "increase its timeout");

export const childTooDeep = (id: string, most: number): WorkflowError =>
  failure(
    "SUBFLOW_TOO_DEEP",
    `${id}: workflows run each other more than ${most} levels deep`,
    "check that no workflow runs itself",
  );

export const noWorkflowPath = (id: string, field: string): WorkflowError =>
  failure("NO_WORKFLOW_PATH", `${id}: ${field} is not a path`, "give the path of a JSON file");

export const unreadableWorkflow = (id: string, path: string, problem: string): WorkflowError =>
  failure(
    "WORKFLOW_UNREADABLE",
    `${id}: can't read the workflow ${path}: ${problem}`,
    "check the path: it is relative to the folder of the run",
  );

export const sourceNotArray = (id: string, type: string): WorkflowError =>
  failure(
    "BAD_SOURCE",
    `${id}: source is not an array: ${type}`,
    "give an array, or null for no iterations",
  );

export const noNextStep = (id: string): WorkflowError =>
  failure(
    "NO_SUCH_STEP",
    `no step ${JSON.stringify(id)} found in the workflow`,
    "check next, children and cases",
  );

export const idleCycle = (id: string): WorkflowError =>
  failure(
    "IDLE_CYCLE",
    `the steps around ${id} form a cycle, and each is skipped by its if`,
    "let one of these steps lead out of the cycle",
  );

export const noHandler = (id: string, type: string): WorkflowError =>
  failure(
    "NO_HANDLER",
    `${id}: no handler for ${type} found`,
    `give customHandlers.${type}, or use a type of the format`,
  );

const refusedPath = (id: string, problem: string): WorkflowError =>
  failure(
    "PATH_REFUSED",
    `${id}: ${problem}`,
    "write to a $variable, or to a path in the run's folder that the registry allows",
  );

export const setToFile = (id: string): WorkflowError =>
  refusedPath(id, "a Set can only write to a $variable");

export const emptyTarget = (id: string): WorkflowError => refusedPath(id, "target is empty");

export const targetNotPath = (id: string, value: unknown): WorkflowError =>
  refusedPath(id, `target is not a path: ${JSON.stringify(value)}`);

export const badWriteMode = (id: string, mode: string): WorkflowError =>
  refusedPath(id, `${JSON.stringify(mode)} is not a mode of a Write`);

export const pathLeadsOut = (id: string, path: string): WorkflowError =>
  refusedPath(id, `${JSON.stringify(path)} leads out of the run's folder`);

export const reservedFileName = (id: string): WorkflowError =>
  refusedPath(id, "a file can't have the name __proto__");

export const pathNotAllowed = (id: string, path: string, globs: string[]): WorkflowError =>
  refusedPath(id, `${path} is outside of registry.files.artifacts (${globs.join(", ")})`);
