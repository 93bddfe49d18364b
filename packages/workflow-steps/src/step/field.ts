import { LLMError } from "../adapter/error.ts";
import type { Call } from "./call.ts";
import { isRecord } from "./plain.ts";

/** A field of a call, from the step's `in` or else from the step itself; undefined for null too. */
export function fieldOf({ inputs, step, value }: Call, name: string): unknown {
  return inputs[name] ?? value(step[name]) ?? undefined;
}

/**
 * A text of a call, undefined when there is none.
 * @throws LLMError `bad_request`
 */
export function textField(call: Call, name: string): string | undefined {
  const text = fieldOf(call, name);
  if (text === undefined || (typeof text === "string" && text !== "")) return text;
  throw badField(call, `its ${name} is no text`);
}

/**
 * An object of a call, undefined when there is none.
 * @throws LLMError `bad_request`
 */
export function recordField(call: Call, name: string): Record<string, unknown> | undefined {
  const record = fieldOf(call, name);
  if (record === undefined || isRecord(record)) return record;
  throw badField(call, `its ${name} is no object`);
}

/**
 * A time in milliseconds, undefined when there is none.
 * @throws LLMError `bad_request`
 */
export function timeoutField(call: Call): number | undefined {
  const ms = fieldOf(call, "timeout");
  if (ms === undefined || (typeof ms === "number" && ms > 0)) return ms;
  throw badField(call, "its timeout is no number of milliseconds");
}

/** The error of a field that can't be used. */
export const badField = ({ step }: Call, what: string): LLMError =>
  new LLMError("bad_request", `${step.id}: ${what}`, { code: "BAD_PARAMS" });

/** A path from the root, without the slash that stands for the root. */
export const pathFromRoot = (path: string): string => path.replace(/^\/+/, "");

/** A path as the file adapter has it: `.tmp/x` lies in a folder of the run's own. */
export const placeOf = ({ runID }: Call, path: string): string =>
  pathFromRoot(path).replace(/^\.tmp\//, `.tmp/${runID}/`);
