import { isApproval } from "@uncaged/workflow/records";
import type { AnswerThread, NumberedStep } from "@uncaged/workflow-server/api-types";
import { isRecord } from "../../lib/json.ts";

/** What a thread asks for with its `__wait__` step. */
export type Question = {
  /** The number of its step, which an answer to it names. */
  number: number;
  text: string;
  /** What a form asks for; null where anything is taken, as a text or as the JSON that a text is. */
  schema: unknown;
  /** Milliseconds since the epoch; null when it waits for ever. */
  expiresAt: number | null;
  /** Whether the answer is a decision, and the property that takes it, null for the value itself. */
  decision: { property: string | null } | null;
  /** The tool call that a person is to decide on; null for any other question. */
  call: AskedCall | null;
  /** The subject of the approval; undefined when the question does not carry it, null for other questions. */
  approval: { subject: unknown } | null;
};

/** A call that a model wants to make. */
export type AskedCall = { tool: string; input: unknown };

const decisive = /^(approved?|ok|accept(ed)?|confirm(ed)?|allow(ed)?)$/i;

export function questionOf({ content, meta, number }: NumberedStep): Question {
  const { expiresAt } = meta;
  const asked = meta.schema ?? meta.form;
  // A Pause of a step workflow that asks for nothing in particular asks for an approval.
  const isPause = meta.for === "pause" && !asksForContent(asked);
  const schema = isPause || asked === undefined || asked === true ? null : asked;
  return {
    number,
    text: content,
    schema,
    expiresAt: typeof expiresAt === "number" ? expiresAt : null,
    decision: isPause ? { property: "approved" } : decisionOf(schema),
    call:
      typeof meta.tool === "string" && meta.for === "tool"
        ? { tool: meta.tool, input: meta.input }
        : null,
    approval: isApproval({ for: "", ...meta }) ? { subject: meta.input } : null,
  };
}

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

/** Whether a question is answered by a text, whose JSON it is where it asks for nothing in particular. */
export const takesText = ({ schema }: Question): boolean =>
  schema === null || (isRecord(schema) && schema.type === "string" && !("enum" in schema));

/** The request that answers with a text as it was typed. */
export const textRequest = (question: Question, text: string): AnswerThread =>
  question.schema === null
    ? { content: text, question: question.number }
    : requestOf(question, text);

/** The request that answers with a value. */
export function requestOf(question: Question, value: unknown): AnswerThread {
  const content = typeof value === "string" ? value : (JSON.stringify(value) ?? "null");
  return { content, value, question: question.number };
}

/** What a decision answers, beside what else was filled in. */
export function decided({ decision }: Question, value: unknown, isYes: boolean): unknown {
  if (!decision) return value;
  if (decision.property === null) return isYes;
  return { ...(isRecord(value) ? value : {}), [decision.property]: isYes };
}
