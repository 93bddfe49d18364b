import { type AnsweredBy, answererKinds, type InputMeta } from "./contract.ts";
import { isRecord } from "./show.ts";

/**
 * Returns the person or program that sent the answer in an `__input__` step; null if it is not recorded. Older versions
 * of plans recorded a text in the answer's value: `console`, a channel's name and its sender's id, or a login name.
 */
export function answererIn(meta: InputMeta): AnsweredBy | null {
  const { by, value } = meta;
  if (isRecord(by)) return readAnswerer(by);
  if (!isRecord(value) || typeof value.by !== "string" || meta.token === undefined) return null;
  if (value.by === "console") return { kind: "console" };
  return { kind: value.by.includes(":") ? "channel" : "terminal", name: value.by };
}

function readAnswerer({ kind, name }: Record<string, unknown>): AnsweredBy | null {
  const known = answererKinds.find((one) => one === kind);
  if (known === undefined) return null;
  return { kind: known, ...(typeof name === "string" && { name }) };
}

/** Describes an answerer in a few words: `terminal ada`. */
export const answererText = ({ kind, name }: AnsweredBy): string =>
  name === undefined ? kind : `${kind} ${name}`;
