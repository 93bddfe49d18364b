import {
  type Holder,
  isClaimOf,
  isHeldBy,
  isLeased,
  leased,
  type LeaseRequest,
  movedAway,
  type Refusal,
  type ThreadMeta,
} from "./thread.ts";

/* Rules of claims outside of an invocation, as pure functions of a thread's meta. */

/**
 * Claims the thread for a holder outside of an invocation. A drive or another lease prevents the claim, unless
 * `takeOver` fences it.
 */
export function hold(
  meta: ThreadMeta,
  request: LeaseRequest & { takeOver: boolean },
  now: number,
): { meta: ThreadMeta } | { held: true } | Refusal {
  const away = movedAway(meta);
  if (away) return away;
  if (!request.takeOver && (meta.drive || isLeased(meta, now))) return { held: true };
  return { meta: leased(meta, request, now) };
}

/** Extends a lease; null when the claim is over. */
export function renew(meta: ThreadMeta | null, holder: Holder, now: number): ThreadMeta | null {
  if (!isHeldBy(meta, holder, now) || !meta.lease) return null;
  return { ...meta, lease: { ...meta.lease, until: now + meta.lease.ms } };
}

/** Ends a lease; null when this holder has none. */
export function release(meta: ThreadMeta | null, holder: Holder): ThreadMeta | null {
  if (!meta || !isClaimOf(meta, holder) || !meta.lease) return null;
  const { lease: _, ...free } = meta;
  return free;
}
