import { WorkflowError } from "../contract/error.ts";
import { show } from "../contract/show.ts";

/** How far a reader has come in a thread's two files: bytes of the log, and of the debug log. */
export type Position = { data: number; info: number };

const pattern = /^d(\d{1,15})\.i(\d{1,15})$/;

/** The place before everything. */
export const beginning: Position = { data: 0, info: 0 };

/** A position as text: `d512.i2048`. */
export const showPosition = ({ data, info }: Position): string => `d${data}.i${info}`;

/** The position that a text means. @throws WorkflowError `BAD_POSITION` (usage). */
export function parsePosition(text: string): Position {
  const [, data, info] = pattern.exec(text) ?? [];
  if (data === undefined || info === undefined) throw badPosition(text);
  return { data: Number(data), info: Number(info) };
}

/** The error that a text, or a number of bytes, is no position in a thread. */
export function badPosition(text: string): WorkflowError {
  return new WorkflowError({
    code: "BAD_POSITION",
    kind: "usage",
    message: `${show(text)} is no position in this thread`,
    hint: "give the id of an event that this thread's stream has sent, or none to read from the start",
  });
}
