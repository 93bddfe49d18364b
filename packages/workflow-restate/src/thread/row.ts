import { timesAt, ulidTime, type WorkFigures } from "@uncaged/workflow/store";
import { endedStatus } from "@uncaged/workflow/internal";
import type { ThreadRow } from "@uncaged/workflow/host";
import { type ShownFields, standOf, type ThreadMeta } from "./thread.ts";

/** Row of a thread in the index. The search looks in `text`. `isShown`: it has the fields that the log shows. */
export type IndexRow = ThreadRow & {
  forkFrom?: ThreadMeta["forkFrom"];
  text?: string;
  isShown?: boolean;
  figures?: WorkFigures;
};

/**
 * Returns the row of a thread. `running` means ordered to run; only the cluster's invocations show whether a worker
 * drives it.
 */
export function rowOf(meta: ThreadMeta): ThreadRow {
  const { threadId, workflow, hash, createdAt, updatedAt, records, end, last } = meta;
  const away = meta.location?.host;
  const sleepsUntil = !end && last?.waits && last.sleeps ? last.wakesAt : undefined;
  const status = statusIn(meta);
  const { waitedMs = 0 } = meta;
  return {
    threadId,
    workflow,
    hash,
    status,
    ...(end?.reason === "maxRounds" && { reason: "maxRounds" as const }),
    steps: records - (end ? 2 : 1),
    createdAt,
    updatedAt,
    ...timesAt({ status, createdAt, updatedAt, waitedMs }, 0),
    ...(sleepsUntil !== undefined && !away && { sleepingUntil: sleepsUntil }),
    ...(away && { movedTo: away.name }),
    subject: meta.subject ?? workflow,
    ...(hasShown(meta) ? fieldsOf(meta.shown) : { ...nothingShown, hasError: status === "failed" }),
  };
}

/** Whether a thread's meta has the fields that its log shows. */
export const hasShown = (
  meta: ThreadMeta,
): meta is ThreadMeta & Required<Pick<ThreadMeta, "shown">> =>
  meta.subject !== undefined && meta.shown?.records === meta.records;

const fieldsOf = ({ at, spent, hasError }: ShownFields): ShownFields => ({ at, spent, hasError });

const nothingShown: ShownFields = {
  at: { role: null, text: null },
  spent: { tokens: 0, cost: 0, unpriced: 0 },
  hasError: false,
};

function statusIn(meta: ThreadMeta): ThreadRow["status"] {
  if (meta.end) {
    const end = meta.end as Parameters<typeof endedStatus>[0]["meta"];
    return endedStatus({ role: "__end__", content: "", meta: end, timestamp: 0 }).status;
  }
  const stand = standOf(meta);
  if (stand === "driven") return "running";
  return stand === "paused" || stand === "waiting" || stand === "moved" ? stand : "interrupted";
}

/** Returns the key of the index object with a thread's row: one object per hour, by the time in the thread's id. */
export const periodOf = (threadId: string): string =>
  new Date(ulidTime(threadId)).toISOString().slice(0, 13);

/** Keys of index objects that do not hold the threads of an hour. */
export const livePeriod = "live";
/** Key prefix of the newest threads in the object of live threads. */
export const newestPrefix = "n:";
export const periodsPeriod = "periods";
export const bundlesPeriod = "bundles";

/** A bundle in the index, with the times when it was stored and discarded, in milliseconds since the epoch. */
export type BundleRow = { bytes: number; at: number; discarded?: number };

export const familyPeriod = (origin: string): string => `family-${origin}`;

/** Returns the thread from which a thread and all its relatives were forked, directly or indirectly. */
export const originOf = ({
  threadId,
  forkFrom,
}: Pick<ThreadMeta, "threadId" | "forkFrom">): string =>
  forkFrom?.origin ?? forkFrom?.threadId ?? threadId;
