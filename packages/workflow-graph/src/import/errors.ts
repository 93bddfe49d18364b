import { WorkflowError } from "@uncaged/workflow";

/* The errors of importing another program's file. */

const invalidImport = (file: string, problem: string, hint: string): WorkflowError =>
  WorkflowError.failed("IMPORT_INVALID", `${file}: ${problem}`, hint);

export const notJson = (file: string, reason: string): WorkflowError =>
  invalidImport(file, `invalid JSON: ${reason}`, "export it again; the file may be incomplete");

export const brokenScript = (file: string, line: number, problem: string): WorkflowError =>
  invalidImport(
    `${file}:${line}`,
    problem,
    "copy the complete TypeScript export; this one may be incomplete",
  );

export const unknownExport = (file: string, found: string): WorkflowError =>
  invalidImport(
    file,
    found,
    "import the TypeScript export of Agent Builder (Code, Agents SDK, TypeScript), or the JSON export of a Flowise AgentFlow",
  );

export const tooLong = (file: string, most: number): WorkflowError =>
  invalidImport(file, `longer than ${most} characters`, "import a smaller file");

export const tooDeep = (file: string): WorkflowError =>
  invalidImport(file, "nested too deeply", "import a file that a program exported");
