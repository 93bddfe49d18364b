import { WAIT } from "@uncaged/workflow";
import { type Location, refusals } from "@uncaged/workflow/store";
import { type ErrorRecord, toErrorRecord, type WorkflowError } from "@uncaged/workflow/host";
import { movedError } from "@uncaged/workflow/internal";

/*
 * Rules of a thread in a cluster, as pure functions of its meta and a request. The object's handlers read clocks and make
 * calls.
 *
 * T1 A writer must hold the claim (epoch, claim). A later claim fences all earlier ones.
 * T2 An append carries the next number. A repeated append is acknowledged without a change.
 * T3 A log has one end record, and no record follows it.
 * T4 An epoch is one order to drive the thread. It ends when the thread waits, is paused or has ended.
 */

/** The longest record, in bytes: a message to a cluster has at most 32 MiB. */
export const maxRecordBytes = 31 * 1024 * 1024;

/** State of a thread beside its records. Times are in milliseconds since the epoch. */
export type ThreadMeta = {
  /** Differs between two threads that had the same id one after the other. */
  incarnation: string;
  threadId: string;
  hash: string;
  workflow: string;
  createdAt: number;
  updatedAt: number;
  forkFrom?: { threadId: string; steps: number; origin?: string };
  /** How many records there are, the start record included, and how many batches of the debug log. */
  records: number;
  batches: number;
  /** The last record's checksum. */
  sum: string;
  last: LastRecord | null;
  /** For how long it has waited up to the last record, in milliseconds; absent while that is 0. */
  waitedMs?: number;
  epoch: number;
  /** How many claims there were, of all epochs; how many appends the last one has made. */
  claim: number;
  appends: number;
  /** Present while it is to be driven; `at` is when it was claimed, and `live` is of that claim. */
  drive: {
    invocation: string | null;
    pid: number;
    since: number;
    at?: number;
    live?: LiveAddress;
  } | null;
  /** Whether it must stop at its next yield. */
  pause: boolean;
  end: { returnCode: number; reason: string } | null;
  /** The object has blobs or staged values: readers must select keys instead of reading all state. */
  isLarge?: boolean;
  /** Where it is, once it has moved between hosts. While it is on another one nothing is done to it here. */
  location?: Location;
  /** How many records its journal has, and the checksum of the last. */
  journal?: { records: number; sum: string };
  /** Holders of claims drive it: the cluster orders no worker to, and does not wake it. */
  byClaims?: true;
  /** The claim of a holder outside of an invocation. It is over at `until`. */
  lease?: { owner: string; ms: number; until: number };
  /** Until when a store does not list it as runnable. */
  postponedUntil?: number;
};

/** Address of the stream of a claim's worker. Clients authenticate with the claim's key. */
export type LiveAddress = { url: string; key: string };

/** The last step. A step that `waits` either `sleeps` until `wakesAt` or waits for an answer, at most until `wakesAt`. */
export type LastRecord = {
  role: string;
  timestamp: number;
  waits: boolean;
  sleeps?: boolean;
  wakesAt?: number;
};

export type Refusal = { error: ErrorRecord };
type Change = { meta: ThreadMeta };

const refusal = (error: WorkflowError): Refusal => ({ error: toErrorRecord(error) });

/** Refusal when a thread is on another host; null when it is here. */
export function movedAway({ threadId, location }: ThreadMeta): Refusal | null {
  return location?.host ? refusal(movedError(threadId, location.host.name)) : null;
}

const closed = (meta: ThreadMeta): Refusal => movedAway(meta) ?? ended(meta);
const ended = ({ threadId, end }: ThreadMeta): Refusal => {
  const { reason = "", returnCode = 0 } = end ?? {};
  return refusal(
    refusals.ended(threadId, reason === "returned" ? `returned ${returnCode}` : reason),
  );
};

export type Started = Pick<
  ThreadMeta,
  "incarnation" | "threadId" | "hash" | "workflow" | "createdAt" | "forkFrom" | "records" | "sum"
> &
  Pick<ThreadMeta, "journal"> & {
    last: LastRecord | null;
    /** Set when holders of claims drive the thread; `claim` is the first of them. */
    byClaims?: { claim?: LeaseRequest };
  };

/** Owner of a claim and its duration without renewal. */
export type LeaseRequest = { owner: string; leaseMs: number };

/** Request to start a thread, without its values. The search looks in `text`. */
export type StartMessage = Omit<Started, "incarnation" | "byClaims"> & {
  text: string;
  /** The ids of the answers that its copied steps are. */
  taken: string[];
};

/** A new thread. It is driven at once, unless its last step waits or holders of claims drive it. `now` is when it is claimed. */
export function start({ createdAt, last, byClaims, ...given }: Started, now: number): Change {
  const meta: ThreadMeta = {
    ...given,
    createdAt,
    updatedAt: last?.timestamp ?? createdAt,
    batches: 0,
    last,
    epoch: 0,
    claim: 0,
    appends: 0,
    drive: null,
    pause: false,
    end: null,
  };
  if (byClaims) {
    const { claim: first } = byClaims;
    const free = { ...meta, byClaims: true as const };
    return { meta: first ? leased(free, first, now) : free };
  }
  return { meta: last?.waits ? meta : driven(meta, createdAt) };
}

function driven(meta: ThreadMeta, now: number): ThreadMeta {
  const { byClaims: _, lease: __, ...free } = meta;
  const drive = { invocation: null, pid: 0, since: now };
  return { ...free, epoch: meta.epoch + 1, appends: 0, pause: false, drive };
}

/** A claim that lasted this long did not fail at the load of its bundle. */
const soundMs = 1_000;

export type ClaimRequest = {
  epoch: number;
  invocation: string;
  pid: number;
  now: number;
  live?: LiveAddress;
  /** The claim of this worker that is to give way to a new order. */
  renews?: number;
};

/**
 * Result of a claim. A refusal (`over`) is final. `again`: this invocation held the thread before and made progress, so its
 * worker was lost.
 */
export type Claimed = (Change & { again?: true }) | { over: "removed" | "ended" | "superseded" };

/**
 * Claims the thread for a worker and fences earlier workers. A claim with `renews` becomes a new order instead: Restate
 * retries an invocation that lost several workers only after a long delay.
 */
export function claim(meta: ThreadMeta | null, request: ClaimRequest): Claimed {
  const looked = look(meta, request);
  if ("over" in looked) return looked;
  const { invocation, pid, now, live, renews } = request;
  const { drive: before, ...rest } = looked.meta;
  const isAgain = before?.invocation === invocation;
  if (renews !== undefined && isAgain && renews === rest.claim) {
    const drive = { invocation: null, pid: 0, since: before.since };
    return { meta: { ...rest, epoch: rest.epoch + 1, appends: 0, drive } };
  }
  const isSound = isAgain && rest.appends > 0 && now - (before.at ?? now) >= soundMs;
  const since = before?.invocation ? before.since : now;
  const drive = { invocation, pid, since, at: now, ...(live && { live }) };
  const claimed = { ...rest, claim: rest.claim + 1, appends: 0, drive };
  return { meta: claimed, ...(isSound && { again: true }) };
}

/** Whether a thread is still to be driven in this epoch. */
export function look(meta: ThreadMeta | null, { epoch }: { epoch: number }): Claimed {
  if (!meta) return { over: "removed" };
  if (meta.end) return { over: "ended" };
  if (!meta.drive || meta.epoch !== epoch) return { over: "superseded" };
  return { meta };
}

/** Leases a thread to a holder outside of an invocation. Fences earlier holders. */
export const leased = (
  meta: ThreadMeta,
  { owner, leaseMs }: LeaseRequest,
  now: number,
): ThreadMeta => ({
  ...meta,
  epoch: meta.drive ? meta.epoch + 1 : meta.epoch,
  claim: meta.claim + 1,
  appends: 0,
  drive: null,
  lease: { owner, ms: leaseMs, until: now + leaseMs },
});

/** Whether a holder outside of an invocation has the thread now. */
export const isLeased = ({ lease }: ThreadMeta, now: number): boolean =>
  lease !== undefined && now < lease.until;

/** Summary of an appended record: its checksum, its step, and the end of the thread if it is an end record. */
export type AppendedRecord = {
  sum: string;
  last: LastRecord;
  end?: { returnCode: number; reason: string };
};

/** A claim. `incarnation` distinguishes threads that had the same id one after the other. */
export type Holder = { epoch: number; claim: number; incarnation?: string };

/**
 * One append of a claim: its number among them, from 1; the record's number in its log, from 0; `batch`: lines of the debug log.
 * `journal` is the checksum of a record of the journal.
 */
export type AppendRequest = Holder & {
  append: number;
  n: number;
  record?: AppendedRecord;
  journal?: { sum: string };
  batch: boolean;
};

export type Appended =
  | (Change & { kind: "done" })
  | { kind: "again"; meta: ThreadMeta }
  | { kind: "ended" }
  | { kind: "fenced" };

/** Whether this was the last claim on a thread. */
export const isClaimOf = (meta: ThreadMeta, { epoch, claim: held, incarnation }: Holder): boolean =>
  meta.epoch === epoch &&
  meta.claim === held &&
  (incarnation === undefined || meta.incarnation === incarnation);

/** Whether this is the claim that a thread is held by (T1). */
export const isHeldBy = (
  meta: ThreadMeta | null,
  holder: Holder,
  now: number,
): meta is ThreadMeta =>
  meta !== null && isClaimOf(meta, holder) && (!meta.lease || isLeased(meta, now));

/** Compare and append (T1, T2). Lines of the debug log are taken also when the claim's epoch is over (T4). */
export function append(meta: ThreadMeta | null, request: AppendRequest, now: number): Appended {
  const fenced = { kind: "fenced" } as const;
  if (!isHeldBy(meta, request, now)) return fenced;
  if (request.append === meta.appends) return { kind: "again", meta };
  if (request.append !== meta.appends + 1) return fenced;
  const counted = {
    ...meta,
    appends: request.append,
    batches: meta.batches + (request.batch ? 1 : 0),
  };
  const { record, journal, n } = request;
  if (!record && !journal) return { kind: "done", meta: counted };
  if (meta.end) return { kind: "ended" };
  if (!meta.drive && !meta.lease) return fenced;
  if (journal) {
    const { records } = meta.journal ?? { records: 0 };
    if (n !== records) return fenced;
    return { kind: "done", meta: { ...counted, journal: { ...journal, records: records + 1 } } };
  }
  if (!record || n !== meta.records) return fenced;
  return { kind: "done", meta: withRecord(counted, record) };
}

/** A thread with one record more. */
export function withRecord(meta: ThreadMeta, { sum, last, end }: AppendedRecord): ThreadMeta {
  const { postponedUntil: _, ...before } = meta;
  const rests = end !== undefined || last.waits;
  const since = Math.max(meta.createdAt, meta.updatedAt);
  const waited = meta.last?.role === WAIT ? Math.max(0, last.timestamp - since) : 0;
  return {
    ...before,
    ...(waited > 0 && { waitedMs: (meta.waitedMs ?? 0) + waited }),
    records: meta.records + 1,
    sum,
    updatedAt: last.timestamp,
    ...(end ? { end } : { last }),
    ...(rests && { drive: null }),
  };
}

/** Ends a drive whose worker stopped at a pause or a wait. Refused (`parked: false`) when the thread was resumed since. */
export function park(
  meta: ThreadMeta | null,
  request: Holder,
  now: number,
): Change | { parked: boolean } {
  if (!isHeldBy(meta, request, now) || !meta.drive || meta.end) return { parked: true };
  if (!meta.pause && !meta.last?.waits) return { parked: false };
  return { meta: { ...meta, drive: null } };
}

/** How a thread stands, without its worker's health. */
export function standOf(
  meta: ThreadMeta,
): "ended" | "moved" | "driven" | "paused" | "waiting" | "idle" {
  if (meta.end) return "ended";
  if (meta.location?.host) return "moved";
  if (meta.drive) return "driven";
  if (meta.last?.waits) return "waiting";
  return meta.pause ? "paused" : "idle";
}

export function pause(meta: ThreadMeta): Change | Refusal {
  const stand = standOf(meta);
  if (stand === "ended" || stand === "moved") return closed(meta);
  if (stand === "driven" || stand === "paused") return { meta: { ...meta, pause: true } };
  const { threadId } = meta;
  return refusal(refusals.notRunning(threadId, stand));
}

/** Continues what is paused. `now` is when. */
export function resume(meta: ThreadMeta, now: number): Change | Refusal {
  const { threadId, last } = meta;
  switch (standOf(meta)) {
    case "ended":
    case "moved":
      return closed(meta);
    case "waiting":
      return refusal(refusals.waiting(threadId, stepOf(last)));
    case "driven":
      if (meta.pause) return { meta: { ...meta, pause: false } };
      return refusal(refusals.alreadyRunning(threadId));
    case "paused":
    case "idle":
      return { meta: driven(meta, now) };
  }
}

const stepOf = (last: LastRecord | null) => {
  const meta = { for: "", ...(last?.sleeps && { sleep: true, expiresAt: last.wakesAt }) };
  return last && { role: last.role, content: "", meta, timestamp: last.timestamp };
};

/** Orders a new drive for a thread whose invocation is gone. */
export function takeUp(meta: ThreadMeta, now: number): Change | Refusal {
  return standOf(meta) === "driven" ? { meta: driven(meta, now) } : resume(meta, now);
}

/** Ends a thread with this record. */
export function kill(meta: ThreadMeta, record: AppendedRecord): Change | Refusal {
  return movedAway(meta) ?? (meta.end ? ended(meta) : { meta: withRecord(meta, record) });
}

/** Whether an answer may be looked at; null: it may. */
export function refusalOfAnswer(meta: ThreadMeta): Refusal | null {
  if (meta.end || meta.location?.host) return closed(meta);
  return standOf(meta) === "waiting" ? null : refusal(refusals.notWaiting(meta.threadId));
}

/** Commits the `__input__` step and orders a drive. */
export function answer(meta: ThreadMeta, record: AppendedRecord, now: number): Change {
  return { meta: driven(withRecord(meta, record), now) };
}

/** Whether the thread still waits at step `n`, so that its timeout applies. */
export const expires = (meta: ThreadMeta | null, n: number): meta is ThreadMeta =>
  meta !== null &&
  standOf(meta) === "waiting" &&
  meta.records === n + 1 &&
  !meta.byClaims &&
  !meta.lease;

/** Why a thread must not be removed; null: it may. */
export function refusalOfRemoval(meta: ThreadMeta, force: boolean): Refusal | null {
  const stand = standOf(meta);
  if (force || stand === "ended" || stand === "moved" || stand === "idle") return null;
  const status = stand === "driven" ? "running" : stand;
  return refusal(refusals.threadOpen(meta.threadId, status));
}
