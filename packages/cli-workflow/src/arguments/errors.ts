import { type ErrorKind, WorkflowError } from "@uncaged/workflow/host";
import { show } from "@uncaged/workflow/internal";

/* The errors of command-line arguments and of the files that they name. */

export const noCall = (message: string, hint: string): WorkflowError =>
  WorkflowError.failed("NO_CALL", message, hint);

export const nothingToEdit = (): WorkflowError =>
  WorkflowError.usage(
    "NOTHING_TO_EDIT",
    "no step is kept, so no step can be edited",
    "keep one with --at-step or --from-role",
  );

export const badEdit = (): WorkflowError =>
  WorkflowError.usage(
    "BAD_EDIT",
    "--edit takes an object with a content (a string), a meta (an object) or both",
    'give the change as JSON: --edit \'{"content":"A better plan"}\'',
  );

/** An edited step that is invalid. */
export const badEditedStep = (problem: string): WorkflowError =>
  WorkflowError.usage(
    "BAD_EDIT",
    `invalid edited step: ${problem}`,
    "correct the step and try again; nothing was forked",
  );

export const editCancelled = (): WorkflowError =>
  WorkflowError.failed(
    "EDIT_CANCELLED",
    "the step was not changed, so nothing was forked",
    "leave out --edit to fork the step unchanged",
  );

export const noEditor = (): WorkflowError =>
  WorkflowError.usage(
    "NO_EDITOR",
    "no editor: neither VISUAL nor EDITOR is set",
    'set EDITOR, or give the change as JSON: --edit \'{"content":"…"}\'',
  );

export const editorFailed = (editor: string, exitCode: number): WorkflowError =>
  WorkflowError.failed(
    "EDITOR_FAILED",
    `the editor ${exitCode === 127 ? "was not found" : `ended with exit code ${exitCode}`}: ${editor}`,
    "nothing was forked; set EDITOR to an editor that works",
  );

export const nothingListed = (file: string): WorkflowError =>
  WorkflowError.failed(
    "NOTHING_LISTED",
    `${file} lists no workflow`,
    'list workflows: "workflows": {"review": "src/review.ts"}',
  );

export const notListed = (file: string, name: string, nearest: string | null): WorkflowError =>
  WorkflowError.missing(
    "NOT_LISTED",
    `${file} lists no workflow ${show(name)}`,
    nearest === null
      ? "give its source too: uncaged-workflow add <name> <file>"
      : `did you mean ${nearest}?`,
  );

export const noProject = (): WorkflowError =>
  WorkflowError.usage(
    "NO_PROJECT",
    "this folder is not in a project",
    'name a workflow and its source: uncaged-workflow add <name> <file>; or list workflows in uncaged.json: {"workflows": {"review": "review.ts"}}',
  );

/** A required confirmation without a terminal. */
export const notConfirmed = (question: string): WorkflowError =>
  WorkflowError.usage(
    "NOT_CONFIRMED",
    `${question} there is no terminal to confirm this`,
    "confirm it: --yes",
  );

/** A name that the workflow does not declare. `declared` lists the declared names for the hint; null for none. */
export const notDeclared = (name: string, declared: string | null): WorkflowError =>
  WorkflowError.missing(
    "NOT_DECLARED",
    `the workflow declares no ${show(name)}`,
    declared === null
      ? "leave out the option: the workflow declares no variables or params"
      : `use a declared name: ${declared}`,
  );

export const noSuchStep = (name: string, known: string): WorkflowError =>
  WorkflowError.missing(
    "NO_SUCH_STEP",
    `the workflow has no step ${show(name)}`,
    `name one of the steps: ${known}`,
  );

export const notRunSoOften = (name: string, nth: string | undefined): WorkflowError =>
  WorkflowError.missing(
    "NO_SUCH_STEP",
    `the step ${show(name)} has not run ${nth} times`,
    `start at its last run: --from-step ${name}`,
  );

/** Invalid JSON in an option, or in the file that the option names. */
export const badJson = (problem: string, option: string, given: string | null): WorkflowError =>
  WorkflowError.usage(
    "BAD_JSON",
    given === null ? problem : `${problem}, in ${show(given)}`,
    given === null
      ? "fix the file, or write a long number as a string"
      : `quote the JSON for the shell: ${option.split(" ")[0]} '{"key":"value"}'`,
  );

export const emptyText = (option: string, source: string): WorkflowError =>
  WorkflowError.usage(
    "EMPTY_TEXT",
    `${option}: ${source} is empty`,
    "check the program that writes the text; or give an empty text as ''",
  );

/** A file or stdin without readable text. */
export const unreadText = (code: string, kind: ErrorKind, message: string): WorkflowError =>
  WorkflowError[kind](code, message, "give the path of a text file, or - for stdin");

export const noSuchFile = (file: string): WorkflowError =>
  WorkflowError.missing(
    "NO_SUCH_FILE",
    `no file ${show(file)} found`,
    "check the path, which is relative to the current folder",
  );

export const outNotWritable = (path: string, reason: string): WorkflowError =>
  WorkflowError.failed(
    "OUT_NOT_WRITABLE",
    `can't write ${show(path)}: ${reason}`,
    "name a file in a writable folder: -o <file>",
  );

export const oneThreadOnly = (): WorkflowError =>
  WorkflowError.usage(
    "ONE_THREAD_ONLY",
    "--wait and --follow take one thread",
    "resume them without these options, and follow each thread: uncaged-workflow follow <id>",
  );
