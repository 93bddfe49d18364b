import { WorkflowError } from "@uncaged/workflow";

const shownLength = 80;
const refused: ReadonlySet<unknown> = new Set(["__proto__", "constructor", "prototype"]);

/** Whether a key is one that could reach an object's prototype. */
export const refusedSegment = (segment: string | number): boolean => refused.has(segment);

/** A target that no value can be written to, whatever the variables hold. */
export const targetError = (source: string, message: string): WorkflowError =>
  new WorkflowError({
    code: "TARGET_INVALID",
    kind: "failed",
    message: `target ${shown(source)}: ${message}`,
    hint: "a target is a $variable with .key and [index], or a /path; both may have {placeholders}",
  });

/** A target that names no place with the values that there are now. */
export const unresolved = (source: string, message: string): WorkflowError =>
  new WorkflowError({
    code: "TARGET_UNRESOLVED",
    kind: "failed",
    message: `target ${shown(source)}: ${message}`,
    hint: "a placeholder needs a text or a number, an index a whole number from 0 or a key",
  });

/** A path that can't be written in the value that is there. */
export const pathError = (path: readonly (string | number)[], message: string): WorkflowError =>
  new WorkflowError({
    code: "PATH_REFUSED",
    kind: "failed",
    message: `path ${shown(path.join("."))}: ${message}`,
    hint: "write to a key of an object, to an index of an array, or replace the whole value",
  });

function shown(text: string): string {
  const part = text.length > shownLength ? `${text.slice(0, shownLength)}…` : text;
  return JSON.stringify(part.toWellFormed());
}
