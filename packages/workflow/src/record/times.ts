import { type Step, WAIT } from "../contract/contract.ts";
import type { EndRecord, StartRecord } from "./record.ts";

/**
 * Working time of a thread, and its time waiting for an answer or asleep, in milliseconds. A fork counts from its own
 * start. Time without a worker between two steps counts as work, because the log does not show it.
 */
export type ThreadTimes = { workedMs: number; waitedMs: number };

/** Computes a thread's waiting time from its log, incrementally. */
export class Waited {
  ms = 0;
  #since: number;
  #isWaiting = false;

  constructor(createdAt: number) {
    this.#since = createdAt;
  }

  take({ role, timestamp }: Pick<Step | EndRecord, "role" | "timestamp">): void {
    if (this.#isWaiting) this.ms += Math.max(0, timestamp - this.#since);
    this.#since = Math.max(this.#since, timestamp);
    this.#isWaiting = role === WAIT;
  }
}

/** Returns the waiting time of a thread up to the last of these records. */
export function waitedIn(
  start: StartRecord,
  records: readonly (Step | EndRecord | null)[],
): number {
  const waited = new Waited(start.timestamp);
  for (const record of records) if (record !== null) waited.take(record);
  return waited.ms;
}

/** Times of a thread up to its last record at `updatedAt`. */
type Known = { status: string; createdAt: number; updatedAt: number; waitedMs: number };

/** Returns a thread's times at `now`. */
export function timesAt(
  { status, createdAt, updatedAt, waitedMs }: Known,
  now: number,
): ThreadTimes {
  const since = Math.max(createdAt, updatedAt);
  const more = Math.max(0, now - since);
  return {
    workedMs: Math.max(0, since - createdAt - waitedMs) + (status === "running" ? more : 0),
    waitedMs: waitedMs + (status === "waiting" ? more : 0),
  };
}
