import { END, type WorkflowResult } from "../contract/contract.ts";
import type { AttemptError } from "../contract/event.ts";
import { isWorkflowError, messageOf } from "../contract/error.ts";
import { toJson } from "../contract/json.ts";
import { isPlainObject, isRecord } from "../contract/show.ts";
import type { EndRecord, FailureRecord } from "../record/record.ts";
import type { Failure } from "./attempts.ts";

/**
 * Outcome of driving a thread: an end record; a release with the log unchanged (the worker shuts down, or the thread
 * waits); or an abort because the log could not be written.
 */
export type Outcome =
  | { kind: "ended"; end: EndRecord }
  | { kind: "released" }
  | { kind: "brokenOff"; error: unknown };

type Mask = (text: string) => string;

// The exit code of a shell after SIGTERM: 128 + 15.
const killedCode = 143;

const endOf = (content: string, meta: EndRecord["meta"], timestamp: number): EndRecord => ({
  role: END,
  content,
  meta,
  timestamp,
});

/** Returns the end record of a result; `now` is in milliseconds since the epoch. */
export const returned = ({ summary, returnCode, value }: WorkflowResult, now: number): EndRecord =>
  endOf(summary, { returnCode, reason: "returned", ...(value !== undefined && { value }) }, now);

/** Returns the end record of a thread that has reached its maxRounds. */
export const outOfRounds = (steps: number, now: number): EndRecord =>
  endOf(stoppedAt(steps), { returnCode: 0, reason: "maxRounds" }, now);

const stoppedAt = (steps: number): string =>
  `stopped at ${steps} ${steps === 1 ? "step" : "steps"}`;

/** Returns the end record of a killed thread. */
export const killed = (now: number): EndRecord =>
  endOf("killed", { returnCode: killedCode, reason: "killed" }, now);

const longestKept = 1024 * 1024;

/**
 * Returns the end record of a thread that failed at the step with the number `step`, from 1. The record has the
 * message, the thrown value in the format of an attempt's error, the hint of a `WorkflowError`, and the error's
 * property `kept`: a plain object of JSON values in which a role can store, for example, an invalid response. Leaves
 * out a `kept` that is not JSON or is longer than 1 Mi characters. Never throws.
 */
export function failed(
  thrown: unknown,
  { error: record, attempt, role }: Failure,
  step: number,
  now: number,
  mask: Mask,
): EndRecord {
  const place = { step, ...(attempt && { attempt }), ...(role && { role: mask(role) }) };
  let error: FailureRecord = { name: mask(record.name), ...place };
  try {
    const { message: _, ...rest } = masked(record, mask);
    error = { ...rest, ...place };
    if (isWorkflowError(thrown) && typeof thrown.hint === "string") error.hint = mask(thrown.hint);
    const kept = keptOf(thrown, mask);
    if (kept !== null) error.kept = kept;
  } catch {
    // Reading a foreign error may throw; the record is still written.
  }
  return endOf(mask(record.message), { returnCode: 1, reason: "failed", error }, now);
}

const masked = (error: AttemptError, mask: Mask): AttemptError =>
  JSON.parse(JSON.stringify(error), (_key, value: unknown) =>
    typeof value === "string" ? mask(value) : value,
  ) as AttemptError;

function keptOf(thrown: unknown, mask: Mask): Record<string, unknown> | null {
  if (!isRecord(thrown) || !isPlainObject(thrown.kept)) return null;
  const text = toJson(thrown.kept, "kept");
  if (!text.ok || text.json.length > longestKept) return null;
  return JSON.parse(mask(text.json)) as Record<string, unknown>;
}

/** Formats an outcome as text. */
export function describeOutcome(outcome: Outcome): string {
  switch (outcome.kind) {
    case "ended":
      return `ended: ${outcome.end.meta.reason}, return code ${outcome.end.meta.returnCode}`;
    case "released":
      return "released by the worker";
    case "brokenOff":
      return `aborted: ${messageOf(outcome.error)}`;
  }
}
