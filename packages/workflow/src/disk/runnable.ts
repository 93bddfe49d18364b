import type { ThreadRef } from "../record/thread.ts";
import type { RunnableOptions, ThreadInfo } from "../store/store.ts";
import { system } from "../system/system.ts";
import type { BundleLocks } from "./bundle-locks.ts";
import type { DiskClaim } from "./claim.ts";
import { addDue, type Due, listDue, postponeDue, removeDue } from "./due.ts";
import { ifThere, withFile } from "./files.ts";
import type { LogTrust } from "./log-trust.ts";
import { dataPath, type Root } from "./paths.ts";
import { isPostponed } from "./postponed.ts";
import { readThread } from "./thread-info.ts";
import { LogWriter } from "./writer.ts";
import { durableWriting } from "./writing.ts";

/** The store's knowledge of its threads. */
export type KnownThreads = {
  info: (ref: ThreadRef) => ThreadInfo | null;
  list: () => Promise<ThreadInfo[]>;
  locks: BundleLocks;
  claimOf: (threadId: string) => DiskClaim | null;
  trust: LogTrust;
};

/** Lists the threads that a worker may drive now. Implements `ThreadStore.runnable`. */
export async function runnableThreads(
  root: Root,
  { now, limit, hashes, onlyDue = false }: RunnableOptions,
  known: KnownThreads,
): Promise<ThreadInfo[]> {
  const held = new Map<string, boolean>();
  const isOurs = (hash: string): boolean => {
    if (hashes !== undefined && !hashes.includes(hash)) return false;
    if (!held.has(hash)) held.set(hash, known.locks.isHeldElsewhere(hash));
    return held.get(hash) === false;
  };
  const isFree = (info: ThreadInfo): boolean => {
    const { hash, paused, owner, movedTo } = info;
    if (paused || owner !== null || movedTo !== null) return false;
    return isOurs(hash) && !isPostponed(root, info, now);
  };
  const due: ThreadInfo[] = [];
  for (const entry of listDue(root, now)) {
    if (due.length >= limit) break;
    if (!isOurs(entry.hash)) continue;
    const info = known.info(entry);
    const at = dueOf(info);
    // An entry may be older than the thread's log.
    if (at === null || at > now) await correct(root, entry, known);
    else if (info && isFree(info)) due.push(info);
  }
  if (onlyDue || due.length >= limit) return due;
  const others = (await known.list()).filter(
    (info) => info.state.kind === "running" && isFree(info),
  );
  others.sort((a, b) => a.updatedAt - b.updatedAt);
  return [...due, ...others].slice(0, limit);
}

const dueOf = (info: ThreadInfo | null): number | null =>
  info?.state.kind === "waiting" ? info.state.dueAt : null;

/**
 * Replaces a due entry that the log contradicts. If the thread does not need a new entry, the old entry stays until the
 * log is durable (disk/due.ts, D2).
 */
async function correct(root: Root, entry: Due, known: KnownThreads): Promise<void> {
  const isSettled = known.info(entry) === null || (await settles(root, entry, known));
  // The thread may have gone to sleep in the meantime.
  const at = dueOf(known.info(entry));
  if (at === entry.at) return;
  if (at !== null) addDue(root, { ...entry, at });
  if (at !== null || isSettled) removeDue(root, entry);
  else postponeDue(root, entry);
}

/** Makes the end of a thread's log durable. Returns whether that succeeded. */
async function settles(root: Root, ref: ThreadRef, known: KnownThreads): Promise<boolean> {
  const { claimOf, trust } = known;
  const claim = claimOf(ref.threadId);
  if (claim) return await claim.settle();
  try {
    if (trust.isSuspect(ref.threadId) && !renews(root, ref, known)) return false;
    const path = dataPath(root, ref.hash, ref.threadId);
    ifThere(() => withFile(path, (fd) => system.files.syncData(fd)));
    return true;
  } catch {
    trust.doubt(ref.threadId);
    return false;
  }
}

/**
 * Renews a suspect log. Leaves a log with a torn tail to the next claim, which reports the tail; then returns false.
 */
function renews(root: Root, { hash, threadId }: ThreadRef, { locks }: KnownThreads): boolean {
  if (!locks.take(hash)) return false;
  try {
    const path = dataPath(root, hash, threadId);
    const log = readThread(path, threadId);
    if (log.torn === 0) void LogWriter.renew(path, log, durableWriting()).close();
    return log.torn === 0;
  } finally {
    locks.release(hash);
  }
}
