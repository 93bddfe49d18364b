import type { AnswerThread, Step } from "@uncaged/workflow-server/api-types";
import { isRecord } from "../../lib/json.ts";

/** What a thread asks for with its `__wait__` step. */
export type Question = {
  text: string;
  /** What the answer must be; null when anything is taken. */
  schema: unknown;
  /** Milliseconds since the epoch; null when it waits for ever. */
  expiresAt: number | null;
  /** Whether yes and no are answers, and the property that takes them, null for the value itself. */
  decision: { property: string | null; yes: unknown; no: unknown } | null;
  token: unknown;
};

const decisive = /^(approved?|ok|accept(ed)?|confirm(ed)?|allow(ed)?)$/i;

export function questionOf({ content, meta }: Step): Question {
  const { schema, expiresAt, token } = meta;
  return {
    text: content,
    schema: schema === undefined || schema === true ? null : schema,
    expiresAt: typeof expiresAt === "number" ? expiresAt : null,
    decision: decisionOf(schema),
    token,
  };
}

function decisionOf(schema: unknown): Question["decision"] {
  if (schema === undefined || schema === true) return { property: null, yes: "yes", no: "no" };
  if (!isRecord(schema)) return null;
  if (schema.type === "boolean") return { property: null, yes: true, no: false };
  if (
    schema.type === "string" &&
    !("enum" in schema || "pattern" in schema || "format" in schema)
  ) {
    return { property: null, yes: "yes", no: "no" };
  }
  const properties = isRecord(schema.properties) ? Object.entries(schema.properties) : [];
  const property = properties.find(
    ([name, one]) => decisive.test(name) && isRecord(one) && one.type === "boolean",
  )?.[0];
  return property === undefined ? null : { property, yes: true, no: false };
}

/** The request that answers with a value; a text is sent as it is. */
export function requestOf({ token }: Question, value: unknown): AnswerThread {
  const meta = token === undefined ? {} : { meta: { token } };
  if (typeof value === "string") return { content: value, value, ...meta };
  return { content: JSON.stringify(value) ?? "null", value, ...meta };
}

export function decided({ decision }: Question, value: unknown, isYes: boolean): unknown {
  if (!decision) return value;
  const choice = isYes ? decision.yes : decision.no;
  if (decision.property === null) return choice;
  return { ...(isRecord(value) ? value : {}), [decision.property]: choice };
}
