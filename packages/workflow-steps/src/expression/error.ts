import { WorkflowError } from "@uncaged/workflow";

const shownLength = 60;

/** What is wrong with an expression, where (an offset into its text), and what to do. */
export type ExpressionProblem = { message: string; offset: number; hint: string };

/**
 * An expression that can't be read (`EXPRESSION_INVALID`) or has no value (`EXPRESSION_FAILED`). Its
 * message shows the expression, shortened around the place.
 */
export class ExpressionError extends WorkflowError {
  /** The whole expression, without the leading `=`. */
  readonly source: string;
  /** Where in `source`, in UTF-16 units from 0. */
  readonly offset: number;

  constructor(
    code: "EXPRESSION_INVALID" | "EXPRESSION_FAILED",
    source: string,
    { message, offset, hint }: ExpressionProblem,
    cause?: unknown,
  ) {
    const text = `expression ${shown(source, offset)}, offset ${offset}: ${message}`;
    super({ code, kind: "failed", message: text, hint }, cause === undefined ? {} : { cause });
    this.name = "ExpressionError";
    this.source = source;
    this.offset = offset;
  }
}

function shown(source: string, offset: number): string {
  const end = Math.min(source.length, Math.max(offset + shownLength / 2, shownLength));
  const start = Math.max(0, Math.min(offset, end) - shownLength);
  const part = source.slice(start, end).toWellFormed();
  return JSON.stringify(`${start > 0 ? "…" : ""}${part}${end < source.length ? "…" : ""}`);
}
