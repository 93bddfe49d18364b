import { type Location, refusals } from "@uncaged/workflow/store";
import { type HostIdentity, movedError } from "@uncaged/workflow/internal";
import { toErrorRecord, WorkflowError } from "@uncaged/workflow/host";
import {
  isLeased,
  movedAway,
  type Refusal,
  standOf,
  type Started,
  type ThreadMeta,
} from "./thread.ts";

/*
 * The rules by which a thread leaves a cluster and arrives in one, as functions of what it is. The order of the acts is
 * that of the core's `moveThread`.
 */

/** To where a thread leaves, and when; `force`: though it is to be driven, nobody does. */
export type LeaveRequest = { to: HostIdentity; at: number; force: boolean };

/** What a thread becomes that leaves; with `before` it has left for there already. */
export type Left = { meta: ThreadMeta; location: Location } | { before: Location } | Refusal;

/** Lets a thread go that does not run. Whoever drove it is fenced. */
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

/** What is left of a thread that was removed after it had moved: it must not come back by an old move. */
export type Tombstone = Location & { hash: string };

export const tombstoneOf = ({ location, hash }: ThreadMeta): Tombstone | null =>
  location ? { ...location, hash } : null;

/** A thread that arrives, as its log and its debug log have it. */
export type ArrivingThread = Omit<Started, "incarnation" | "byClaims"> &
  Pick<ThreadMeta, "updatedAt" | "batches" | "end" | "waitedMs"> & {
    moves: number;
    paused: boolean;
  };

/** Whether a thread may arrive with this number of its moves: `null`; or it has, or must not. */
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

/** The thread that has arrived. Nobody drives it yet. With a new `incarnation` nothing of its older debug log counts. */
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

const exists = (threadId: string): Refusal => ({
  error: toErrorRecord(
    WorkflowError.failed(
      "THREAD_EXISTS",
      `the cluster has a thread ${threadId} that has not come from here`,
      `compare them, and fork what you want to keep: uncaged-workflow fork ${threadId}`,
    ),
  ),
});

const removed = (threadId: string): Refusal => ({
  error: toErrorRecord(
    WorkflowError.failed(
      "THREAD_MOVED",
      `${threadId} was removed where it has moved to`,
      `go on in a new thread: uncaged-workflow fork ${threadId}`,
    ),
  ),
});
