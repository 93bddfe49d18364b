import { isWorkflowError, messageOf } from "../contract/error.ts";
import { END, type WorkflowResult } from "../contract/contract.ts";
import type { EndRecord, FailureRecord } from "../log/record.ts";
import { toJson } from "../contract/json.ts";
import { isPlainObject } from "../contract/show.ts";

/**
 * How the driving of a thread ended: with an end record; released with its log as it is (the worker
 * shuts down, or the thread waits); or broken off because the log could not be written.
 */
export type Outcome =
  | { kind: "ended"; end: EndRecord }
  | { kind: "released" }
  | { kind: "brokenOff"; error: unknown };

/** The return code of a thread that was killed: 128 and SIGTERM, as a shell has it. */
export const killedCode = 143;

/** How a thread's log ends; `now` is in milliseconds since the epoch. */
export const returned = (result: WorkflowResult, now: number): EndRecord => ({
  role: END,
  content: result.summary,
  meta: { returnCode: result.returnCode, reason: "returned" },
  timestamp: now,
});

export const outOfRounds = (maxRounds: number, now: number): EndRecord => ({
  role: END,
  content: `stopped after maxRounds ${maxRounds}`,
  meta: { returnCode: 0, reason: "maxRounds" },
  timestamp: now,
});

export const killed = (now: number): EndRecord => ({
  role: END,
  content: "killed",
  meta: { returnCode: killedCode, reason: "killed" },
  timestamp: now,
});

/** `at.step` is the number of the step, from 1, that was to be made; `at.attempt` what failed. */
export function failed(
  thrown: unknown,
  at: { step: number; attempt?: string },
  now: number,
  mask: (text: string) => string,
): EndRecord {
  return {
    role: END,
    content: mask(messageOf(thrown)),
    meta: { returnCode: 1, reason: "failed", error: failureRecord(thrown, at, mask) },
    timestamp: now,
  };
}

const longestKept = 1024 * 1024;

/**
 * What the end record holds of a failure beside its message: the name and the step, a `WorkflowError`'s
 * code and hint, and `kept`: what a thrown error brings in a property of that name, a plain object of
 * JSON values, as a role keeps the text that it could not understand. It is left out when it is no
 * JSON or longer than 1 Mi characters. Never throws.
 */
export function failureRecord(
  thrown: unknown,
  at: { step: number; attempt?: string },
  mask: (text: string) => string,
): FailureRecord {
  const { step, attempt } = at;
  const record: FailureRecord = { name: mask(nameOf(thrown)), step, ...(attempt && { attempt }) };
  try {
    if (isWorkflowError(thrown)) {
      const { code, hint } = thrown;
      if (typeof code === "string") record.code = code;
      if (typeof hint === "string") record.hint = mask(hint);
    }
    const kept = keptOf(thrown, mask);
    if (kept !== null) record.kept = kept;
  } catch {
    // What a stranger's error does when it is looked at is no reason to lose the record.
  }
  return record;
}

function keptOf(thrown: unknown, mask: (text: string) => string): Record<string, unknown> | null {
  if (typeof thrown !== "object" || thrown === null || !("kept" in thrown)) return null;
  const { kept } = thrown;
  if (!isPlainObject(kept)) return null;
  const text = toJson(kept, "kept");
  if (!text.ok || text.json.length > longestKept) return null;
  return JSON.parse(mask(text.json)) as Record<string, unknown>;
}

// What a bundle throws may be anything: a Proxy that throws at each touch, a name that is no string.
function nameOf(thrown: unknown): string {
  try {
    if (!(thrown instanceof Error)) return typeof thrown;
    const { name }: { name: unknown } = thrown;
    return String(name).slice(0, 200);
  } catch {
    return "unknown";
  }
}

/**
 * Whether a record could not be written for its size: the workflow's error and not the disk's. Nothing
 * was written then, and the end can be.
 */
export const isTooLarge = (error: unknown): boolean =>
  isWorkflowError(error) && error.code === "RECORD_TOO_LARGE";
