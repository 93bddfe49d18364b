import { WorkflowError } from "../contract/error.ts";

/* The errors of projects: their file, their environment files and their limits. */

/** `problems`, here and below: one `file:line: problem` each. The first becomes the message. */
export const envFileInvalid = (problems: string[]): WorkflowError =>
  withAll(
    "ENV_FILE_INVALID",
    problems,
    "write NAME=value, with quotes around a value of several lines, and # before a comment",
  );

export const projectInvalid = (problems: string[]): WorkflowError =>
  withAll(
    "PROJECT_INVALID",
    problems,
    'write {"root": "folder", "host": "restate://host:port", "env": [".env"], "workflows": {"name": "file"}, "limits": {"costPerDay": 20}}, each of them optional',
  );

export const limitsInvalid = (problems: string[]): WorkflowError =>
  withAll(
    "CONFIG_INVALID",
    problems,
    'write {"limits": {"costPerDay": 20, "costPerMonth": 200}}, each of them optional',
  );

const withAll = (code: string, problems: string[], hint: string): WorkflowError =>
  new WorkflowError({
    code,
    message: problems[0] ?? "",
    hint,
    ...(problems.length > 1 && { details: problems }),
  });

/** A folder has both a project file and the key in its manifest. */
export const twoProjects = (file: string, key: string, manifest: string): WorkflowError =>
  WorkflowError.failed(
    "PROJECT_INVALID",
    `found both ${file} and the key "${key}" in ${manifest}`,
    "keep one of them",
  );

export const notATextFile = (path: string): WorkflowError =>
  WorkflowError.failed("NOT_A_FILE", `${path} is not a regular file`, "put a text file there");

export const projectNotOurs = (path: string): WorkflowError =>
  WorkflowError.failed(
    "PROJECT_NOT_OURS",
    `${path} belongs to another user`,
    "work in a folder of your own, or, if you trust the file, become its owner: chown",
  );

export const textTooLarge = (path: string, mostBytes: number): WorkflowError =>
  WorkflowError.failed(
    "FILE_TOO_LARGE",
    `${path} has more than ${mostBytes} bytes`,
    "make it shorter",
  );

export const notUtf8 = (path: string): WorkflowError =>
  WorkflowError.failed("NOT_A_TEXT", `${path} is not UTF-8 text`, "save it as UTF-8");
