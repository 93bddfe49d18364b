import { type Location, refusals } from "@uncaged/workflow/store";
import { type HostIdentity, movedError } from "@uncaged/workflow/internal";
import { toErrorRecord } from "@uncaged/workflow/host";
import {
  isLeased,
  movedAway,
  type Refusal,
  standOf,
  type Started,
  type ThreadMeta,
} from "./thread.ts";
import { movedAndRemoved, threadExists } from "./errors.ts";

/*
 * Rules of moving a thread out of a cluster and into one, as pure functions. `moveThread` of the core calls them in
 * order.
 */

/** Destination and time of a move. `force` moves a running thread whose worker is lost. */
export type LeaveRequest = { to: HostIdentity; at: number; force: boolean };

/** Result of leaving; `before` when the thread has already left for that host. */
export type Left = { meta: ThreadMeta; location: Location } | { before: Location } | Refusal;

/** Moves a thread that does not run to another host. Fences its last worker. */
export function leave(meta: ThreadMeta, { to, at, force }: LeaveRequest): Left {
  const { location: before } = meta;
  if (before?.host?.id === to.id) return { before };
  const away = movedAway(meta);
  if (away) return away;
  const stand = standOf(meta);
  if ((stand === "driven" || isLeased(meta, at)) && !force)
    return { error: toErrorRecord(refusals.moves(meta.threadId)) };
  const location: Location = {
    moves: (before?.moves ?? 0) + 1,
    host: to,
    at,
    ...(stand === "paused" && { paused: true }),
  };
  const { lease: _, byClaims: __, ...rest } = meta;
  const released = { drive: null, pause: false, claim: meta.claim + 1, appends: 0 };
  return { meta: { ...rest, ...released, location }, location };
}

/**
 * Record that remains after the removal of a moved thread, so that a late message of the move can't restore the thread.
 */
export type Tombstone = Location & { hash: string };

export const tombstoneOf = ({ location, hash }: ThreadMeta): Tombstone | null =>
  location ? { ...location, hash } : null;

/** An arriving thread, read from its log and its debug log. */
export type ArrivingThread = Omit<Started, "incarnation" | "byClaims"> &
  Pick<ThreadMeta, "updatedAt" | "batches" | "end" | "waitedMs"> & {
    moves: number;
    paused: boolean;
  };

/**
 * Returns null when a thread may arrive by the move with this number, `arrived` when it has arrived, else the refusal.
 */
export function refusalOfArrival(
  threadId: string,
  meta: ThreadMeta | null,
  tombstone: Tombstone | null,
  moves: number,
): { arrived: true } | Refusal | null {
  const seen = meta?.location ?? (meta ? null : tombstone);
  const last = seen?.moves ?? 0;
  if (meta && !seen?.host) return last >= moves ? { arrived: true } : exists(threadId);
  if (last < moves) return null;
  if (seen?.host) return { error: toErrorRecord(movedError(threadId, seen.host.name)) };
  return removed(threadId);
}

/** Returns the meta of an arrived thread, without a drive. A new `incarnation` discards the older debug log. */
export function arrive(
  before: ThreadMeta | null,
  { moves, paused, ...given }: ArrivingThread,
  { incarnation, at }: { incarnation: string; at: number },
): ThreadMeta {
  return {
    ...given,
    incarnation,
    epoch: before?.epoch ?? 0,
    claim: (before?.claim ?? 0) + 1,
    appends: 0,
    drive: null,
    pause: paused && !given.end && !given.last?.waits,
    isLarge: true,
    location: { moves, host: null, at },
  };
}

const exists = (threadId: string): Refusal => ({ error: toErrorRecord(threadExists(threadId)) });

const removed = (threadId: string): Refusal => ({
  error: toErrorRecord(movedAndRemoved(threadId)),
});
