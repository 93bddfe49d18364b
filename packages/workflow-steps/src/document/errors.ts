import type { WorkflowError } from "@uncaged/workflow";
import { failure } from "./document.ts";
import { quoted } from "./form.ts";

/* The errors of a document's targets, outputs, declarations and params. */

/** `declared` are the declared params with their types. */
export const badParams = (problems: string[], declared: string): WorkflowError =>
  failure(
    "PARAMS_INVALID",
    `params: ${problems.join("; ")}`,
    declared ? `give the params of the workflow: ${declared}` : "give no params: none are declared",
    { details: problems.length > 1 ? problems : undefined },
  );

export const badDeclaration = (text: unknown, problem: string, hint: string): WorkflowError =>
  failure(
    "DECLARATION_INVALID",
    `declaration ${quoted(typeof text === "string" ? text : `a ${typeof text}`)}: ${problem}`,
    hint,
  );

export const badOut = (found: string): WorkflowError =>
  failure(
    "OUT_INVALID",
    `out is not a target or an object: ${found}`,
    'write "$x", or an object such as {"$x": "=_result"}',
  );

export const badTarget = (target: string, problem: string): WorkflowError =>
  failure(
    "TARGET_INVALID",
    `target ${quoted(target)}: ${problem}`,
    "write a $variable with .key and [index], or a /path; both may contain {placeholders}",
  );

export const unresolvedTarget = (target: string, problem: string): WorkflowError =>
  failure(
    "TARGET_UNRESOLVED",
    `target ${quoted(target)}: ${problem}`,
    "use a string or a number in a placeholder, an index from 0 or a key in brackets",
  );

export const badPath = (path: readonly (string | number)[], problem: string): WorkflowError =>
  failure(
    "PATH_REFUSED",
    `path ${quoted(path.join("."))}: ${problem}`,
    "write to a key of an object, to an index of an array, or replace the whole value",
  );
