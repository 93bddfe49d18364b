import { WorkflowError } from "@uncaged/workflow";
import { durationHint } from "@uncaged/workflow/interpreter";
import { failure, misuse } from "../run/error.ts";

/* The errors of tools and their calls. A model reads the message and the hint. */

export const unknownTool = (name: string, known: readonly string[]): WorkflowError =>
  failure(
    "TOOL_UNKNOWN",
    `unknown tool ${JSON.stringify(name)}`,
    `tools: ${known.join(", ") || "none"}`,
  );

/** Returns the error for a tool that a document names and its registry does not have. */
export const missingTool = (name: string, known: readonly string[]): WorkflowError =>
  failure("TOOL_UNKNOWN", `unknown tool ${name}; tools: ${known.join(", ")}`);

export const invalidInput = (name: string, problem: string): WorkflowError =>
  failure(
    "TOOL_INPUT",
    `invalid arguments of ${name}: ${problem}`,
    "call the tool again with arguments that fit its schema",
  );

/** Returns the error for a call that the end of its process interrupted. */
export const unknownOutcome = (name: string): WorkflowError =>
  failure(
    "TOOL_UNKNOWN_OUTCOME",
    `the outcome of ${name} is unknown: its process ended during the call`,
    "find out the outcome before you call the tool again",
  );

export const toolAborted = (name: string): WorkflowError =>
  failure("TOOL_ABORTED", `the tool ${name} was stopped with its thread`);

export const toolTimeout = (name: string, ms: number): WorkflowError =>
  failure(
    "TOOL_TIMEOUT",
    `the tool ${name} was stopped after ${ms} ms`,
    "call the tool with a smaller task, or in another way",
  );

export const notApproved = (name: string): WorkflowError =>
  failure(
    "TOOL_NOT_APPROVED",
    `${name} was not run: the call is not approved`,
    "let a model in a role call the tool, which asks for a person's approval",
  );

export const toolFailed = (name: string, reason: string, cause: unknown): WorkflowError =>
  failure("TOOL_FAILED", `the tool ${name} failed: ${reason}`, undefined, { cause });

export const resultNotJson = (reason: string, cause: unknown): WorkflowError =>
  failure(
    "TOOL_RESULT",
    `the tool's result can't be written as JSON: ${reason}`,
    "the tool must return text or plain JSON values",
    { cause },
  );

/** Returns the error for a result that is too large. Sizes are in MiB. */
export const resultTooLarge = (size: string, most: number): WorkflowError =>
  failure(
    "TOOL_RESULT",
    `the tool's result has ${size} MiB and can't be recorded: the limit is ${most} MiB`,
    "make the tool return less, such as a part of the result or the path of a file",
  );

/* The definitions of tools. */

const badTool = (message: string, hint = "fix the definition of the tool"): WorkflowError =>
  misuse("BAD_TOOL", message, hint);

export const invalidToolName = (name: string): WorkflowError =>
  badTool(`invalid name of a tool: ${JSON.stringify(name)}`, "use letters, digits, _ and -");

export const inputNotSchema = (name: string, reason: string): WorkflowError =>
  badTool(`the input of the tool ${name} can't be a JSON Schema: ${reason}`);

export const inputNotObject = (name: string): WorkflowError =>
  badTool(`the input of the tool ${name} is not an object`);

export const twinTools = (name: string): WorkflowError =>
  badTool(`two tools have the name ${name}`);

const badApproval = (tool: string, problem: string, hint: string): WorkflowError =>
  badTool(`the approval of the tool ${tool}: ${problem}`, hint);

export const invalidApproval = (tool: string, given: unknown): WorkflowError =>
  badApproval(
    tool,
    `the option can't be ${JSON.stringify(given)}`,
    "use true, a function, or {when, within, otherwise}",
  );

export const unknownApprovalOption = (tool: string, name: string): WorkflowError =>
  badApproval(tool, `unknown option ${name}`, "use when, within, otherwise");

export const invalidOtherwise = (tool: string, given: unknown): WorkflowError =>
  badApproval(tool, `otherwise can't be ${JSON.stringify(given)}`, "use approve or refuse");

export const invalidWithin = (tool: string, given: unknown): WorkflowError =>
  badApproval(tool, `within can't be ${JSON.stringify(given)}`, durationHint);

/* Files, commands and searches. */

/** Hints by error code. */
const hints: Record<string, string> = {
  PATH_OUTSIDE: "give a path inside the working directory",
  FILE_MISSING: "list the files to find the path",
  NOT_A_FILE: "give the path of a regular file",
};

const pathError = (code: string, path: string, problem: string, hint = hints[code]) => {
  const kind = code === "FILE_MISSING" ? "missing" : "failed";
  const message = `${JSON.stringify(path.slice(0, 300))} ${problem}`;
  return new WorkflowError({ code, kind, message, hint });
};

export const outside = (path: string): WorkflowError =>
  pathError("PATH_OUTSIDE", path, "leads out of the thread's directory");

export const zeroByte = (path: string): WorkflowError =>
  pathError("PATH_OUTSIDE", path, "has a zero byte");

export const missingFile = (path: string): WorkflowError =>
  pathError("FILE_MISSING", path, "does not exist");

export const brokenLink = (path: string): WorkflowError =>
  pathError("FILE_MISSING", path, "is a link to a missing file");

export const missingParent = (path: string): WorkflowError =>
  pathError("FILE_MISSING", path, "does not exist, nor does its folder");

export const parentNotFolder = (path: string): WorkflowError =>
  pathError("FILE_MISSING", path, "is not a folder");

export const fileNotOpened = (path: string, code: string | undefined): WorkflowError =>
  pathError("FILE_FAILED", path, `can't be opened: ${code}`);

export const notAFile = (path: string): WorkflowError =>
  pathError("NOT_A_FILE", path, "is not a regular file");

export const notFolder = (path: string): WorkflowError =>
  pathError("NOT_A_FOLDER", path, "is not a folder", "read it");

export const notText = (path: string): WorkflowError =>
  pathError("NOT_TEXT", path, "is not text", "leave the binary file as it is");

/** Returns the error for a file that is too long. Sizes are in bytes. */
export const fileTooLong = (path: string, size: number, most: number): WorkflowError =>
  pathError(
    "FILE_TOO_LONG",
    path,
    `is too long: ${size} bytes; the limit is ${most / 1024 / 1024} MB`,
    "search the file, or work on a part of it",
  );

export const fileExists = (path: string): WorkflowError =>
  pathError("FILE_EXISTS", path, "already exists", "give another path, or allow overwriting");

export const gitFolder = (path: string): WorkflowError =>
  pathError("GIT_FOLDER", path, "belongs to Git", "use Git's commands to change it");

export const patternTooLong = (pattern: string): WorkflowError =>
  pathError("BAD_PATTERN", pattern, "is too long for a pattern", "");

const editFailed = (path: string, problem: string, hint: string): WorkflowError =>
  failure("EDIT_FAILED", `${JSON.stringify(path)} ${problem}`, hint);

export const sameTexts = (path: string): WorkflowError =>
  editFailed(path, "would not change: both texts are the same", "give another text");

export const textMissing = (path: string): WorkflowError =>
  editFailed(path, "does not contain the text", "read the file again, and give the exact text");

/**
 * Returns the error for a text that occurs several times. `lines` has the lines with the text, such as "lines 3, 8".
 */
export const textRepeated = (path: string, times: number, lines: string): WorkflowError =>
  editFailed(
    path,
    `has the text ${times} times, in ${lines}`,
    "give more of the surrounding text, or set all to true",
  );

export const undoMissing = (undoId: string): WorkflowError =>
  failure(
    "UNDO_MISSING",
    `no change with the undoId ${JSON.stringify(undoId.slice(0, 100))} found`,
    "give the undoId of a change in this thread",
  );

/** Returns the error for a file that is not as after the change. `how` is "is gone" or "has changed". */
export const undoChanged = (path: string, how: string): WorkflowError =>
  failure(
    "UNDO_CHANGED",
    `${JSON.stringify(path)} ${how} since the edit`,
    "undo the later changes first, or set force to true to discard them",
  );

/** Returns the error for a slow regular expression. `place` is the file and the line. */
export const searchTooSlow = (place: string): WorkflowError =>
  failure(
    "SEARCH_FAILED",
    `the regular expression takes too long at ${place}`,
    "write the expression without nested repetitions such as (a+)+, or set plain to true",
  );

export const invalidExpression = (reason: string): WorkflowError =>
  failure(
    "SEARCH_FAILED",
    `invalid regular expression: ${reason}`,
    "fix the expression, or set plain to true",
  );

export const argvOrCommand = (): WorkflowError =>
  failure("TOOL_INPUT", "runCommand needs either argv or command", "give only one of them");

export const noProgram = (): WorkflowError =>
  pathError("COMMAND_MISSING", "", "is not a command", "name a program");

/**
 * Returns the error for a command that was ended at its timeout. The model reads `output`, the command's output so far,
 * as the hint.
 */
export const commandTimeout = (name: string, ms: number, output: string): WorkflowError =>
  failure(
    "COMMAND_TIMEOUT",
    `the command ${JSON.stringify(name)} was ended after ${ms} ms`,
    `${output}\n[ended after ${ms} ms: its output is above]`.trim(),
  );
