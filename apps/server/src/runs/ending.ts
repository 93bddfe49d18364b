import {
  type EventRecord,
  type LogFacts,
  readNewestEvents,
  type Root,
  type ThreadRef,
  type ThreadRow,
} from "@uncaged/workflow/host";

/** The event that a run's stream ends with. */
export type Ending = {
  type: "workflow_done" | "workflow_failed" | "workflow_cancelled";
  seq: number;
  payload: unknown;
};

/** When a thread ended, in milliseconds since the epoch, and whether it was killed. */
export type Ended = { at: number; killed: boolean };

type EndRecord = NonNullable<LogFacts["end"]>;

// What a run still tells after its own end is little.
const mostLookedAt = 1000;

/**
 * The event that ends a run, by its thread's end record. It is the run's own where that agrees; one that
 * was ended from outside has none, and gets the number behind its last event.
 *
 * @param startedAt In milliseconds since the epoch.
 */
export function endingOf(root: Root, ref: ThreadRef, end: EndRecord, startedAt: number): Ending {
  const type = typeOf(end);
  const killed = end.meta.reason === "killed";
  const { last, own } = lookBack(root, ref, { at: end.timestamp, killed });
  if (own?.type === type) return { type, seq: last, payload: own.payload };
  const duration_ms = end.timestamp - startedAt;
  const failure = { error: end.content, failed_step_id: null };
  return {
    type,
    seq: last + 1,
    payload: { ...(type === "workflow_failed" && failure), duration_ms },
  };
}

/** The number of the event that ends a run that has ended. */
export function endingSeqOf(root: Root, ref: ThreadRef, ended: Ended): number {
  const { last, own } = lookBack(root, ref, ended);
  return own ? last : last + 1;
}

/** The step that a run failed at, as it told; null when that is not known. */
export function failedStepOf(root: Root, ref: ThreadRef): string | null {
  let looked = 0;
  for (const { payload, type } of readNewestEvents(root, ref)) {
    if (type === "workflow_failed") {
      const { failed_step_id: id } = payload as { failed_step_id?: unknown };
      return typeof id === "string" ? id : null;
    }
    if (type === "workflow_start" || (looked += 1) > mostLookedAt) break;
  }
  return null;
}

/** When the thread of a row ended; null when it has not. */
export function endedOf(row: ThreadRow | null): Ended | null {
  if (row?.status === "killed") return { at: row.updatedAt, killed: true };
  const hasEnded = row?.status === "completed" || row?.status === "failed";
  return hasEnded ? { at: row.updatedAt, killed: false } : null;
}

function typeOf({ meta: { reason, returnCode } }: EndRecord): Ending["type"] {
  if (reason === "killed") return "workflow_cancelled";
  return reason === "returned" && returnCode === 0 ? "workflow_done" : "workflow_failed";
}

/**
 * The number of a run's last event, and that event if the run said with it that it ended. What steps
 * that were killed tell while they come to their end is not of the run any more.
 */
function lookBack(
  root: Root,
  ref: ThreadRef,
  { at, killed }: Ended,
): { last: number; own: EventRecord | null } {
  let last: number | null = null;
  let looked = 0;
  for (const event of readNewestEvents(root, ref)) {
    const { seq, timestamp, type } = event;
    if (!killed && (type === "workflow_done" || type === "workflow_failed")) {
      return { last: seq, own: event };
    }
    const isLate = killed ? timestamp >= at : timestamp > at;
    if (!isLate) last ??= seq;
    if (type === "workflow_start" || (last !== null && killed)) break;
    if ((looked += 1) > mostLookedAt) break;
  }
  return { last: last ?? 0, own: null };
}
