import { WorkflowError } from "@uncaged/workflow";
import { validate } from "../check/check.ts";
import type { Fault } from "../check/fault.ts";
import type { WorkflowDocument } from "../document/document.ts";
import { SUPPORTED_VERSIONS } from "../document/version.ts";
import { readDocument } from "./read.ts";

/** A valid document, and what its author may have meant otherwise, each as `file:line:column: …`. */
export type CheckedDocument = { document: WorkflowDocument; warnings: string[] };

const needs = `a step workflow has "version" ("${SUPPORTED_VERSIONS[0]}" to "${SUPPORTED_VERSIONS.at(-1)}"), "name", "registry" and an array "steps"`;

/**
 * Reads and checks a step workflow. `file` is named in messages, and says by its ending whether `text`
 * is YAML (`.yaml`, `.yml`) or JSON. Faults come in the order of the file.
 *
 * @param options `customTypes` has the prefixes of steps that the caller's own handlers carry out.
 * @throws WorkflowError `STEPS_INVALID`: the first error as `file:line:column: message`, all of several
 *   in `details`.
 */
export function checkedDocument(
  text: string,
  file: string,
  options: { customTypes?: Iterable<string> } = {},
): CheckedDocument {
  const { document, positionOf } = readDocument(text, file);
  const told = (found: readonly Fault[]): string[] =>
    found
      .map(({ path, message }) => ({ ...positionOf(path), message }))
      .toSorted((one, other) => one.line - other.line || one.column - other.column)
      .map(({ line, column, message }) => `${file}:${line}:${column}: ${message}`);
  if (isForeign(document)) {
    const message = `${file}:1:1: this is no step workflow: it has neither version nor steps`;
    throw invalid([message], needs);
  }
  const faults = validate(document, options);
  const errors = faults.filter(({ severity }) => severity === "error");
  if (errors.length > 0) throw invalid(told(errors), hintFor(document));
  return { document: document as WorkflowDocument, warnings: told(faults) };
}

const isForeign = (document: unknown): boolean =>
  typeof document !== "object" ||
  document === null ||
  !("version" in document || "steps" in document);

function hintFor(document: unknown): string {
  const { version, steps } = document as Readonly<Record<string, unknown>>;
  const isRecognised =
    typeof version === "string" && version.startsWith("3.") && Array.isArray(steps);
  return isRecognised ? "mend the workflow and try again" : needs;
}

function invalid(messages: string[], hint: string): WorkflowError {
  const [first = "", ...others] = messages;
  const more = others.length > 0 ? ` (and ${others.length} more)` : "";
  return new WorkflowError({
    code: "STEPS_INVALID",
    kind: "failed",
    message: `${first}${more}`,
    hint,
    ...(others.length > 0 && { details: messages }),
  });
}
