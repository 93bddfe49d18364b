import type { WorkflowError } from "@uncaged/workflow";
import { failure } from "../run/error.ts";

/* The errors of files for a model. `file` is the path, or a name such as "a picture". */

const badFile = (message: string, hint: string): WorkflowError =>
  failure("BAD_FILE", message, hint);

export const fileUnreadable = (file: string, why: string): WorkflowError =>
  badFile(`${file} can't be read: ${why}`, "write the path relative to the thread's directory");

/** Returns the error for a file of another type. `kinds` lists the accepted types. */
export const otherKind = (file: string, kinds: string): WorkflowError =>
  badFile(`the bytes of ${file} are not a ${kinds}`, `convert it: models take ${kinds}`);

export const otherMediaType = (file: string, given: string, found: string): WorkflowError =>
  badFile(`${file} has the mediaType ${given}, but its bytes are ${found}`, "omit mediaType");

export const fileEmpty = (file: string): WorkflowError =>
  badFile(`${file} is empty`, "use a file with content");

/** Returns the error for a file that is too large. Sizes are in megabytes. */
export const fileTooLarge = (file: string, size: string, most: string): WorkflowError =>
  badFile(
    `${file} has ${size} MB, but models take at most ${most} MB`,
    "make it smaller, or use a part of it",
  );
