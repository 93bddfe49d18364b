import { isApproval } from "@uncaged/workflow/records";
import type { AnswerThread, NumberedStep } from "@uncaged/workflow-server/api-types";
import { isRecord } from "../../lib/json.ts";

/** The question of a `__wait__` step. */
export type Question = {
  number: number;
  /** The prompt; empty for a tool call, whose input shows all of it. */
  text: string;
  /** The role, node or step that asks; null if unknown. */
  asker: string | null;
  /** Schema of the answer; null for any text, which the server parses as JSON if possible. */
  schema: unknown;
  /** Milliseconds since the epoch; null without a timeout. */
  expiresAt: number | null;
  /** The property that holds the decision; null if the answer itself is the decision. Null for other questions. */
  decision: { property: string | null } | null;
  /** The tool call to decide on; null for other questions. */
  call: AskedCall | null;
  /** The subject of the approval; undefined if the question lacks it; null for other questions. */
  approval: { subject: unknown } | null;
};

export type AskedCall = { tool: string; input: unknown };

const decisive = /^(approved?|ok|accept(ed)?|confirm(ed)?|allow(ed)?)$/i;

export function questionOf({ content, meta, number }: NumberedStep): Question {
  const { expiresAt } = meta;
  const isCall = typeof meta.tool === "string" && meta.for === "tool";
  const asked = meta.schema ?? meta.form;
  // A Pause without a specific question asks for an approval.
  const isPause = meta.for === "pause" && !asksForContent(asked);
  const schema = isPause || asked === undefined || asked === true ? null : asked;
  return {
    number,
    text: isCall ? problemIn(meta) : content,
    asker: [meta.name, meta.stepID, meta.stepId, meta.nodeId].find(isName) ?? null,
    schema,
    expiresAt: typeof expiresAt === "number" ? expiresAt : null,
    decision: isPause ? { property: "approved" } : decisionOf(schema),
    call: isCall ? { tool: String(meta.tool), input: meta.input } : null,
    approval: isApproval({ for: "", ...meta }) ? { subject: meta.input } : null,
  };
}

const isName = (value: unknown): value is string => typeof value === "string" && value !== "";

const problemIn = ({ problem }: NumberedStep["meta"]): string =>
  typeof problem === "string" ? problem : "";

const asksForContent = (schema: unknown): boolean =>
  isRecord(schema) && !(schema.type === "object" && Object.keys(schema).length === 1);

function decisionOf(schema: unknown): Question["decision"] {
  if (!isRecord(schema)) return null;
  if (schema.type === "boolean") return { property: null };
  const properties = isRecord(schema.properties) ? Object.entries(schema.properties) : [];
  const property = properties.find(
    ([name, one]) => decisive.test(name) && isRecord(one) && one.type === "boolean",
  )?.[0];
  return property === undefined ? null : { property };
}

/** Tells whether the answer is a text, parsed as JSON if the question accepts any value. */
export const takesText = ({ schema }: Question): boolean =>
  schema === null || (isRecord(schema) && schema.type === "string" && !("enum" in schema));

export const textRequest = (question: Question, text: string): AnswerThread =>
  question.schema === null
    ? { content: text, question: question.number }
    : requestOf(question, text);

export function requestOf(question: Question, value: unknown): AnswerThread {
  const content = typeof value === "string" ? value : (JSON.stringify(value) ?? "null");
  return { content, value, question: question.number };
}

/** The answer with a decision and the other fields of the form. */
export function decided({ decision }: Question, value: unknown, isYes: boolean): unknown {
  if (!decision) return value;
  if (decision.property === null) return isYes;
  return { ...(isRecord(value) ? value : {}), [decision.property]: isYes };
}
