import { WorkflowError } from "../contract/error.ts";

/** `at`: `file:line:column`. `kind`: `JSON` or `YAML`. */
export const documentInvalid = (
  code: string,
  at: string,
  problem: string,
  kind: string,
): WorkflowError =>
  WorkflowError.failed(code, `${at}: ${problem}`, `fix the file: it must be one ${kind} document`);
