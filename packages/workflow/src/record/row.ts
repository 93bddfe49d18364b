import { ulidTime } from "../contract/base32.ts";
import { sleepsUntil } from "../contract/wait.ts";
import { firstLine, subjectOf } from "./subject.ts";
import { timesAt } from "./times.ts";
import type { LogFacts, StartRecord } from "./record.ts";
import type { LiveFacts, ThreadPlace, ThreadRef, ThreadRow, ThreadStatus } from "./thread.ts";
import type { ThreadSpending } from "./thread.ts";
import type { ThreadWork } from "./work-figures.ts";

const noSpending: ThreadSpending = { tokens: 0, cost: 0, unpriced: 0 };

/** Fields of a row from a thread's log. `steps` is the number of steps. */
export type RowFacts = Pick<LogFacts, "end" | "last"> & {
  start: StartRecord;
  steps: number;
  /** Waiting time up to the thread's last record, in milliseconds. */
  waitedMs: number;
  work: ThreadWork;
};

/** Returns the row of a thread with an unreadable log. */
export function unknownRow({ threadId, hash }: ThreadRef): ThreadRow {
  const createdAt = ulidTime(threadId);
  const times = { workedMs: 0, waitedMs: 0 };
  const unknown = { workflow: "", steps: 0, createdAt, updatedAt: createdAt, ...times };
  const at = { role: null, text: null };
  const own = { subject: "", at, spent: noSpending, hasError: false };
  return { threadId, hash, status: "corrupt", ...unknown, ...own };
}

/**
 * Returns the row of a thread in a state, with its times up to the last record. `away` is the host to which the thread
 * moved, `driver` the report of its worker.
 */
export function rowFrom(
  { threadId, hash }: ThreadRef,
  { start, end, last, steps, waitedMs, work }: RowFacts,
  state: ThreadStatus,
  { away = null, driver = null }: { away?: string | null; driver?: LiveFacts | null } = {},
): ThreadRow {
  const { status } = state;
  const until = status === "waiting" ? sleepsUntil(last) : null;
  const reason = "result" in state ? state.result.reason : undefined;
  const { timestamp: createdAt } = start;
  const updatedAt = (end ?? last ?? start).timestamp;
  return {
    threadId,
    workflow: start.name,
    hash,
    status,
    ...(reason !== undefined && { reason }),
    steps,
    createdAt,
    updatedAt,
    ...timesAt({ status, createdAt, updatedAt, waitedMs }, 0),
    ...(until !== null && { sleepingUntil: until }),
    ...(away !== null && { movedTo: away }),
    subject: subjectOf(start),
    at: placeOf(state, work, driver),
    spent: work.spent,
    hasError: work.hasError || status === "failed",
  };
}

function placeOf(
  state: ThreadStatus,
  { role, asker }: ThreadWork,
  driver: LiveFacts | null,
): ThreadPlace {
  switch (state.status) {
    case "failed": {
      const failed = state.error ? (state.error.role ?? null) : role;
      return { role: failed, text: firstLine(state.result.summary) };
    }
    case "waiting":
      return { role: asker, text: firstLine(state.question.content) };
    case "running":
      return { role: driver?.role ?? role, text: null };
    default:
      return { role, text: null };
  }
}

/** Returns a row with its times at `now`. */
export const rowAt = (row: ThreadRow, now: number): ThreadRow => ({ ...row, ...timesAt(row, now) });

/** Returns the parts of a row whose changes are reported, as text. */
export const shownOf = ({ status, steps, at, spent, hasError }: ThreadRow): string =>
  JSON.stringify([status, steps, at, spent, hasError]);
