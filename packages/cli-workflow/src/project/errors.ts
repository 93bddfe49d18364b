import { WorkflowError } from "@uncaged/workflow/host";
import { show } from "@uncaged/workflow/internal";

/* The errors of creating a project. */

export const notADirectory = (path: string, hint: string): WorkflowError =>
  WorkflowError.usage("NOT_A_DIR", `${show(path)} is a file, or is inside a file`, hint);

export const fileExists = (path: string): WorkflowError =>
  WorkflowError.usage(
    "FILE_EXISTS",
    `${show(path)} already exists`,
    "move the file, or name another folder",
  );

export const directoryNotEmpty = (path: string, hint: string): WorkflowError =>
  WorkflowError.usage("DIR_NOT_EMPTY", `${show(path)} is not empty`, hint);

export const nameTaken = (file: string, name: string): WorkflowError =>
  WorkflowError.usage(
    "NAME_TAKEN",
    `${file} already lists a workflow ${show(name)}`,
    "give it another name: --name",
  );

export const notAnObject = (file: string): WorkflowError =>
  WorkflowError.failed("DOCUMENT_INVALID", `${file}:1:1: not an object`, "fix the file");
