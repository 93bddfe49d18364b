import { textOfContent, thoughtIn } from "../content/sent.ts";
import type { Spent } from "../run/run.ts";

/** One thing that a line of a command's output reports. */
export type AgentOutput =
  | { kind: "text"; delta: string }
  | { kind: "thinking"; delta: string }
  | { kind: "toolUse"; id: string; name: string; input: unknown }
  | { kind: "toolResult"; id: string; content: unknown; isError: boolean }
  /** The session that a later step may resume. */
  | { kind: "session"; id: string }
  /** What was counted so far of one of the models' answers, by its id: it counts if the run breaks off. */
  | { kind: "usage"; id: string; spent: Spent }
  /** An answer of a model broke off before all of it was counted. */
  | { kind: "broken"; model: string }
  /** What a model used in the whole run. */
  | { kind: "spent"; spent: Spent }
  /** The answer, whole: the last one counts. */
  | { kind: "result"; text: string }
  /** The command reports that it failed; `overBudget` when it has used up its `{budget}`. */
  | { kind: "failed"; message: string; overBudget?: boolean };

/** Reads one run's JSON lines, in order: any JSON values, of which unknown ones report nothing. */
export type LineReader = () => (line: unknown) => AgentOutput[];

/** Properties of a JSON value, which may be anything at all: none when it is no object. */
export type Fields = Record<string, unknown>;

export const fieldsOf = (value: unknown): Fields =>
  typeof value === "object" && value !== null ? (value as Fields) : {};

export const listOf = (value: unknown): Fields[] =>
  Array.isArray(value) ? value.map(fieldsOf) : [];

export const stringOf = (value: unknown): string => (typeof value === "string" ? value : "");

export const countOf = (value: unknown): number =>
  typeof value === "number" && Number.isFinite(value) && value > 0 ? Math.round(value) : 0;

/** A piece of text that is only shown: what can't be read of it is left out. */
export const shownIn = thoughtIn;

/** The answer as a command reports it. One that can't be read as text is a failure, not an empty answer. */
export function resultIn(value: unknown, field: string): AgentOutput {
  try {
    return { kind: "result", text: textOfContent(value, field) };
  } catch (error) {
    return { kind: "failed", message: (error as Error).message };
  }
}
