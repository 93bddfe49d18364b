import { WorkflowError } from "@uncaged/workflow";
import { failure, failures } from "../document/document.ts";

/* The errors of a run's state: paths, overrides, checkpoints and values. */

const shown = (names: readonly string[]) =>
  `${names.slice(0, 20).join(", ")}${names.length > 20 ? ", …" : ""}`;

const unknownPath = (problem: string): WorkflowError =>
  WorkflowError.missing(
    "PLACE_UNKNOWN",
    `invalid path: ${problem}`,
    "use a path from the thread's own steps, and keep the steps before it",
  );

export const runNotOpen = (run: string, step: string): WorkflowError =>
  unknownPath(`no open workflow ${run} found in ${step}`);

export const noStepOnPath = (id: string): WorkflowError => unknownPath(`no step ${id} found`);

export const iterationOver = (iteration: number, loop: string): WorkflowError =>
  unknownPath(`iteration ${iteration} of ${loop} has finished`);

const badOverride = (message: string, hint: string): WorkflowError =>
  WorkflowError.missing("OVERRIDE_UNKNOWN", message, hint);

export const overridesNotObject = (): WorkflowError =>
  badOverride(
    "overrides must be an object, with a new value for each name",
    "give { $variable: value }",
  );

export const unknownOverride = (name: string, declared: readonly string[]): WorkflowError =>
  badOverride(
    `no variable or param ${JSON.stringify(name)} found in the workflow`,
    declared.length > 0 ? `use a declared name: ${shown(declared)}` : "give no overrides",
  );

export const badCheckpoint = (problems: readonly string[]): WorkflowError =>
  failures(
    "CHECKPOINT_INVALID",
    problems,
    "use a complete checkpoint of this workflow",
    "invalid checkpoint: ",
  );

const notJSON = (name: string, problem: string): WorkflowError =>
  failure(
    "VALUE_NOT_JSON",
    `${name}: the new value ${problem}, which JSON can't hold`,
    "write a value that JSON can hold",
  );

export const tooDeepForJSON = (name: string, most: number): WorkflowError =>
  notJSON(name, `has more than ${most} levels, or contains itself`);

export const wrongTypeForJSON = (name: string, type: string): WorkflowError =>
  notJSON(name, `contains a ${type}`);

export const noSuchStep = (id: string, steps: readonly string[]): WorkflowError =>
  WorkflowError.missing(
    "NO_SUCH_STEP",
    `no step ${JSON.stringify(id)} found in the workflow`,
    `use one of its steps: ${shown(steps)}`,
  );

export const ambiguousStep = (id: string, places: readonly string[]): WorkflowError =>
  failure(
    "STEP_AMBIGUOUS",
    `${id} is in several constructs: ${places.slice(0, 10).join("; ")}`,
    "begin at one of these constructs instead",
  );
