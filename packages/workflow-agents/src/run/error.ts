import { WorkflowError } from "@uncaged/workflow";

/** Returns an error that fails a role, or that a model gets as the result of a tool call. */
export const failure = (
  code: string,
  message: string,
  hint?: string,
  { cause, details }: { details?: readonly string[]; cause?: unknown } = {},
): WorkflowError =>
  new WorkflowError(
    { code, kind: "failed", message, hint, ...(details && { details: [...details] }) },
    cause === undefined ? undefined : { cause },
  );

/** Returns an error about the source or the start request of a workflow. */
export const misuse = (code: string, message: string, hint: string): WorkflowError =>
  new WorkflowError({ code, kind: "usage", message, hint });

/** A JSON object whose values are unchecked. */
export type Fields = Record<string, unknown>;

export const isObject = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Returns a text on one line, with at most `most` characters. */
export function oneLine(text: string, most: number): string {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length > most ? `${line.slice(0, most)}…` : line;
}
