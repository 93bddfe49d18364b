import { WAIT } from "@uncaged/workflow";
import { refusals } from "@uncaged/workflow/store";
import { type ErrorRecord, toErrorRecord, type WorkflowError } from "@uncaged/workflow/host";
import { movedError } from "@uncaged/workflow/internal";
import type { LastRecord, LiveAddress, ShownFields, ThreadMeta } from "./meta.ts";

/*
 * Rules of a thread in a cluster, as pure functions of its meta and a request. The object's handlers read clocks and
 * make calls.
 *
 * T1 A writer must hold the claim (epoch, claim). A later claim fences all earlier claims.
 * T2 An append carries the next number. The object acknowledges a repeated append without a change.
 * T3 A log has one end record, and no record follows it.
 * T4 An epoch is one order to drive the thread. It ends when the thread waits, is paused or has ended.
 */

export type { LastRecord, LiveAddress, ShownFields, ThreadMeta } from "./meta.ts";

/** Largest record, in bytes. A message to a cluster has at most 32 MiB. */
export const maxRecordBytes = 31 * 1024 * 1024;

export type Refusal = { error: ErrorRecord };
type Change = { meta: ThreadMeta };

const refusal = (error: WorkflowError): Refusal => ({ error: toErrorRecord(error) });

/** Returns the refusal for a thread on another host; null for a thread in this cluster. */
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
  | "incarnation"
  | "threadId"
  | "hash"
  | "workflow"
  | "createdAt"
  | "forkFrom"
  | "subject"
  | "records"
  | "sum"
> &
  Pick<ThreadMeta, "journal"> & {
    last: LastRecord | null;
    /** Set when holders of claims drive the thread; `claim` makes the first claim. */
    byClaims?: { claim?: LeaseRequest };
  };

/** Owner of a claim and its duration without renewal. */
export type LeaseRequest = { owner: string; leaseMs: number };

/** Request to start a thread, without its values. The search looks in `text`. */
export type StartMessage = Omit<Started, "incarnation" | "byClaims"> & {
  text: string;
  /** Ids of the answers among the copied steps. */
  taken: string[];
};

/**
 * Creates a thread. It is ordered to run at once, unless its last step waits or holders of claims drive it. `now` is
 * the time of the first claim.
 */
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

/**
 * Age of a claim in milliseconds after which its bundle has loaded. Only the loss of a worker after that time counts.
 */
const soundMs = 1_000;

export type ClaimRequest = {
  epoch: number;
  invocation: string;
  pid: number;
  now: number;
  live?: LiveAddress;
  /** Number of this worker's claim. A new order replaces the claim. */
  renews?: number;
};

/**
 * Result of a claim. A refusal (`over`) is final. `again`: this invocation held the thread before and made progress, so
 * its worker was lost.
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

/** Whether this epoch's order to drive the thread is still valid. */
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

/** Whether a holder outside of an invocation has the thread at this time. */
export const isLeased = ({ lease }: ThreadMeta, now: number): boolean =>
  lease !== undefined && now < lease.until;

/** Summary of an appended record: its checksum, its step, and the thread's end for an end record. */
export type AppendedRecord = {
  sum: string;
  last: LastRecord;
  end?: { returnCode: number; reason: string };
  /** Fields of the thread's row after a record at which the thread rests. */
  shown?: ShownFields;
};

/** A claim. `incarnation` distinguishes successive threads with the same id. */
export type Holder = { epoch: number; claim: number; incarnation?: string };

/**
 * One append of a claim. `append`: its number within the claim, from 1. `n`: the record's number in its log, from 0.
 * `batch`: whether it has debug log lines. `journal`: the checksum of a journal record.
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

/** Whether this is the last claim on a thread. */
export const isClaimOf = (meta: ThreadMeta, { epoch, claim: held, incarnation }: Holder): boolean =>
  meta.epoch === epoch &&
  meta.claim === held &&
  (incarnation === undefined || meta.incarnation === incarnation);

/** Whether this claim holds the thread (T1). */
export const isHeldBy = (
  meta: ThreadMeta | null,
  holder: Holder,
  now: number,
): meta is ThreadMeta =>
  meta !== null && isClaimOf(meta, holder) && (!meta.lease || isLeased(meta, now));

/** Compares and appends (T1, T2). Accepts lines of the debug log even after the claim's epoch is over (T4). */
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

/** Returns the meta after one more record. */
export function withRecord(
  meta: ThreadMeta,
  { sum, last, end, shown }: AppendedRecord,
): ThreadMeta {
  const { postponedUntil: _, ...before } = meta;
  const rests = end !== undefined || last.waits;
  const since = Math.max(meta.createdAt, meta.updatedAt);
  const waited = meta.last?.role === WAIT ? Math.max(0, last.timestamp - since) : 0;
  return {
    ...before,
    ...(waited > 0 && { waitedMs: (meta.waitedMs ?? 0) + waited }),
    records: meta.records + 1,
    ...(shown && { shown: { ...shown, records: meta.records + 1 } }),
    sum,
    updatedAt: last.timestamp,
    ...(end ? { end } : { last }),
    ...(rests && { drive: null }),
  };
}

/**
 * Ends a drive whose worker stopped at a pause or a wait. Returns `parked: false` when the thread was resumed
 * meanwhile.
 */
export function park(
  meta: ThreadMeta | null,
  request: Holder,
  now: number,
): Change | { parked: boolean } {
  if (!isHeldBy(meta, request, now) || !meta.drive || meta.end) return { parked: true };
  if (!meta.pause && !meta.last?.waits) return { parked: false };
  return { meta: { ...meta, drive: null } };
}

/** Returns the state of a thread without regard to its worker's health. */
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

/** Continues a paused or idle thread, or cancels a pending pause. */
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

export function kill(meta: ThreadMeta, record: AppendedRecord): Change | Refusal {
  return movedAway(meta) ?? (meta.end ? ended(meta) : { meta: withRecord(meta, record) });
}

/** Returns the refusal of an answer; null when the thread accepts one. */
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

/** Returns the refusal of a removal; null when the thread may be removed. */
export function refusalOfRemoval(meta: ThreadMeta, force: boolean): Refusal | null {
  const stand = standOf(meta);
  if (force || stand === "ended" || stand === "moved" || stand === "idle") return null;
  const status = stand === "driven" ? "running" : stand;
  return refusal(refusals.threadOpen(meta.threadId, status));
}
