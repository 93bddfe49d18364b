import { textOfContent, thoughtIn } from "../content/sent.ts";
import type { Fields } from "../run/error.ts";
import type { Spent } from "../run/run.ts";

/** An event, usage, or result in a line of a command's output. */
export type AgentOutput =
  | { kind: "text"; delta: string }
  | { kind: "thinking"; delta: string }
  | { kind: "toolUse"; id: string; name: string; input: unknown }
  | { kind: "toolResult"; id: string; content: unknown; isError: boolean }
  /** The session that a later step may resume. */
  | { kind: "session"; id: string }
  /** The usage so far of one answer, by its id. The usage counts if the run breaks off. */
  | { kind: "usage"; id: string; spent: Spent }
  /** A model's answer broke off before its usage was complete. */
  | { kind: "broken"; model: string }
  /** The usage of a model in the whole run. */
  | { kind: "spent"; spent: Spent }
  /** The model, reported when it is known. */
  | { kind: "model"; model: string }
  /** The text of the last message. The answer of a command without a result, unless a tool call follows. */
  | { kind: "said"; text: string }
  /** The whole answer. The last one counts. */
  | { kind: "result"; text: string }
  /**
   * The command's report of its failure. `overBudget` means that the command used up its `{budget}`, and `isUnread`
   * that the answer of the command is unreadable.
   */
  | { kind: "failed"; message: string; overBudget?: boolean; isUnread?: boolean };

/** Returns a function that reads the JSON lines of one run, in order. Unknown values should be ignored. */
export type LineReader = () => (line: unknown) => AgentOutput[];

export type { Fields };

/** Returns a JSON object, or an empty object for other values. */
export const fieldsOf = (value: unknown): Fields =>
  typeof value === "object" && value !== null ? (value as Fields) : {};

export const listOf = (value: unknown): Fields[] =>
  Array.isArray(value) ? value.map(fieldsOf) : [];

export const stringOf = (value: unknown): string => (typeof value === "string" ? value : "");

/** Reads a number of tokens. Invalid values are 0. */
export const countOf = (value: unknown): number =>
  typeof value === "number" && value > 0 && value <= mostTokens ? Math.round(value) : 0;

// No run uses more tokens, so a larger number is invalid.
const mostTokens = 1e12;
const mostDollars = 1e6;

/** Reads an amount of US dollars. Returns null for invalid values. */
export const dollarsOf = (value: unknown): number | null =>
  typeof value === "number" && value >= 0 && value <= mostDollars ? value : null;

export const isTrue = (value: unknown): boolean => value === true || value === "true";

/** Returns a model's name without a command's suffix, such as `[1m]` in `claude-opus-4-8[1m]`. */
export const modelOf = (value: unknown): string => stringOf(value).replace(/\[[^\]]*\]$/, "");

/** Reads the session id that a later run gets as an argument. */
export function sessionIn(value: unknown): AgentOutput[] {
  const id = stringOf(value);
  return /^\w[\w.:-]{0,199}$/.test(id) ? [{ kind: "session", id }] : [];
}

/** Reads text that is only displayed. Leaves out unreadable parts. */
export const shownIn = thoughtIn;

/** Reads the answer that a command reports. Unreadable content is a failure, not an empty answer. */
export function resultIn(value: unknown, field: string): AgentOutput {
  try {
    return { kind: "result", text: textOfContent(value, field) };
  } catch (error) {
    return { kind: "failed", message: (error as Error).message, isUnread: true };
  }
}
