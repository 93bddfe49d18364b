import { END, type Step } from "../contract/contract.ts";
import type { AttemptError } from "../contract/event.ts";
import { jsonText } from "../contract/json.ts";
import { isRecord } from "../contract/show.ts";
import { isSha256 } from "./sha256.ts";
import { openEnd } from "./sum.ts";

/** Maximum length of a record without its sum, in bytes. */
export const maxRecordBytes = 64 * 1024 * 1024;

/** Line 1 of a thread's log. */
export type StartRecord = {
  name: string;
  hash: string;
  /** The SHA-256 of the bundle's bytes; absent in a log of an earlier version of the format. */
  sha256?: string;
  threadId: string;
  parameters: {
    prompt: string;
    options: { maxRounds: number; cwd?: string; [option: string]: unknown };
    params?: unknown;
  };
  timestamp: number;
  /** `origin` is the first ancestor, set when `threadId` is itself a fork. */
  forkFrom?: { threadId: string; steps: number; origin?: string };
  /** The valid `traceparent` of the caller that started the thread. */
  traceparent?: string;
  /** Place of the start. Absent on hosts without automatic resumes, and in logs of an earlier version of the format. */
  startedIn?: StartedIn;
};

/**
 * Place of a thread's start: a mark of the storage root that copies of the root lack, and the names of its environment
 * variables.
 */
export type StartedIn = { root: string; env: string[] };

export type EndReason = "returned" | "maxRounds" | "killed" | "failed";

/**
 * The failure of a thread, without its message: the thrown error, the number of the step (from 1), the failed attempt
 * and its role where known, the hint of a `WorkflowError`, and values that the error carried.
 */
export type FailureRecord = Omit<AttemptError, "message"> & {
  step: number;
  attempt?: string;
  role?: string;
  hint?: string;
  kept?: Record<string, unknown>;
};

/**
 * The last line of an ended thread's log. `content` is the summary or the error message, `value` the returned JSON
 * value.
 */
export type EndRecord = {
  role: END;
  content: string;
  meta: { returnCode: number; reason: EndReason; error?: FailureRecord; value?: unknown };
  timestamp: number;
};

/** Position and reason of a break in a log, other than a torn end. `line` counts from 1, `offset` in bytes. */
export type Break = { line: number; offset: number; reason: string };

/** Status of a thread from its log. `last` is its last step. */
export type LogFacts = { broken: Break | null; end: EndRecord | null; last: Step | null };

/** Returns the reason why a value is not a start record; null when it is. */
export function violationOfStart(value: unknown): string | null {
  if (!isRecord(value)) return "the start record is not an object";
  const { parameters, forkFrom } = value;
  for (const key of ["name", "hash", "threadId"]) {
    if (typeof value[key] !== "string") return `missing ${key} in the start record`;
  }
  if (value.sha256 !== undefined && !isSha256(value.sha256)) {
    return "invalid sha256 in the start record";
  }
  if (!Number.isFinite(value.timestamp)) return "missing timestamp in the start record";
  if (!isRecord(parameters) || typeof parameters.prompt !== "string") {
    return "missing prompt in the start record";
  }
  if (!isRecord(parameters.options) || !Number.isInteger(parameters.options.maxRounds)) {
    return "missing maxRounds in the start record";
  }
  if (forkFrom !== undefined && !isRecord(forkFrom)) return "forkFrom is not an object";
  return null;
}

/** Returns the reason why a value is not a step or end record; null when it is. */
export function violationOfRecord(value: unknown): string | null {
  if (!isRecord(value)) return "the record is not an object";
  if (typeof value.role !== "string") return "missing role";
  if (typeof value.content !== "string") return "missing content";
  if (!isRecord(value.meta)) return "missing meta";
  if (!Number.isFinite(value.timestamp)) return "missing timestamp";
  if (value.role === END && !Number.isInteger(value.meta.returnCode)) {
    return "missing returnCode in the end record";
  }
  return null;
}

/** Whether a valid record is an end record. */
export const isEnd = (record: Step | EndRecord): record is EndRecord => record.role === END;

/** Formats a record as a log line without its newline. */
export const textOf = (record: StartRecord | EndRecord | Step): string => jsonText(record);

/** Head of the journal as named by a record of the data log: its number of records, and the sum of the last record. */
export type JournalHead = { records: number; sum: string };

/**
 * Removes and returns the journal head of a record: like the sum, it is not part of the record's content. Null when
 * there is none; an earlier version stored counts of entries in this field.
 */
export function takeHead(record: unknown): JournalHead | null {
  const head = isRecord(record) ? record.journal : null;
  if (!isRecord(head) || typeof head.records !== "number" || typeof head.sum !== "string")
    return null;
  delete (record as { journal?: unknown }).journal;
  return { records: head.records, sum: head.sum };
}

/** Appends the journal's head to a record's text. */
export const withHead = (record: string, head: JournalHead | null): string =>
  head === null ? record : `${openEnd(record)},"journal":${jsonText(head)}}`;

/** Appends a checked step's timestamp and attempt id to its text. */
export function stampedText(json: string, timestamp: number, attempt?: string): string {
  const id = attempt === undefined ? "" : `,"attempt":"${attempt}"`;
  return `${openEnd(json)},"timestamp":${timestamp}${id}}`;
}

/**
 * A line of the debug log. An event also has `type`, `stepID`, `payload` and `seq`; `attempt`, the id of its attempt;
 * and `step`, the number, from 1, of the next step to be committed. A `journal` event of an earlier version has a
 * checksum, `sum`.
 */
export type InfoRecord = {
  tag: string;
  content: string;
  timestamp: number;
  type?: string;
  stepID?: string | null;
  payload?: unknown;
  seq?: number;
  step?: number;
  attempt?: string;
  sum?: string;
};
