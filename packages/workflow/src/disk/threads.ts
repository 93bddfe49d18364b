import { checkThreadId } from "../contract/names.ts";
import { wakesAt } from "../contract/wait.ts";
import type { HostIdentity, InputRequest, Location } from "../control/control.ts";
import { isEnd } from "../record/record.ts";
import { requestIdOf, takenIds } from "../record/selection.ts";
import { type Noted, type ThreadRef } from "../record/thread.ts";
import { system } from "../system/system.ts";
import { diskError } from "./disk-error.ts";
import { addDue, duePath } from "./due.ts";
import { ifThere, removeQuietly, syncFolder } from "./files.ts";
import { isPaused, notePaused } from "./paused.ts";
import { moveFromTrash, moveToTrash, trashedThreads } from "./trash.ts";
import { movedTo, readLocation, sureLocation, writeLocation } from "./location.ts";
import { waitForLock } from "./lock.ts";
import { readLast, readLog } from "./log.ts";
import { dataPath, loggedHashes, type Root, startLockPath, threadsDir } from "./paths.ts";
import { notInTrash, restoredTwice, startPending } from "./errors.ts";
import { movedError, notFound } from "../record/errors.ts";

/** Finds the thread with this exact id; null when it is missing. */
export function threadWithId(root: Root, threadId: string): ThreadRef | null {
  const hash = loggedHashes(root).find((one) => system.files.exists(dataPath(root, one, threadId)));
  return hash === undefined ? null : { hash, threadId };
}

/** Reads the notes beside a thread's log. @throws WorkflowError `LOG_CORRUPT` when the location file is damaged */
export const notedOf = (root: Root, ref: ThreadRef): Noted => ({
  movedTo: movedTo(root, ref),
  paused: isPaused(root, ref),
});

/** Checks that a thread is on this host. @throws WorkflowError `THREAD_MOVED` */
export function checkHere(root: Root, ref: ThreadRef): void {
  const host = sureLocation(root, ref)?.host;
  if (host) throw movedError(ref.threadId, host.name);
}

/**
 * Returns whether a thread's log already has an answer with this `requestId`. False for answers without a `requestId`.
 */
export function hasTaken(root: Root, { hash, threadId }: ThreadRef, input: InputRequest): boolean {
  const id = requestIdOf(input);
  if (id === undefined) return false;
  const path = dataPath(root, hash, threadId);
  try {
    const log = readLog(path);
    return log.kind === "thread" && takenIds(log.steps).includes(id);
  } catch (error) {
    throw diskError(error, "read", path);
  }
}

/**
 * Returns the wake time of a thread without a driver, in milliseconds since the epoch; null if it does not sleep.
 * @throws the system's error.
 */
export function wakingTime(root: Root, ref: ThreadRef): number | null {
  const at = lastWakingTime(root, ref);
  return at === null || movedTo(root, ref) !== null ? null : at;
}

/** Returns the wake time like {@link wakingTime}, but from the log alone: the thread may have moved to another host. */
export function lastWakingTime(root: Root, { hash, threadId }: ThreadRef): number | null {
  const last = ifThere(() => readLast(dataPath(root, hash, threadId)));
  if (last?.kind !== "record" || last.record === null || isEnd(last.record)) return null;
  return wakesAt(last.record);
}

/** Returns the wake time like {@link wakingTime}, but null for an unreadable thread, which can't be woken. */
export function quietWakingTime(root: Root, ref: ThreadRef): number | null {
  try {
    return wakingTime(root, ref);
  } catch {
    return null;
  }
}

/** Returns whether a thread with this id has a log. */
export const isCreated = (root: Root, hash: string, threadId: string): boolean =>
  system.files.exists(dataPath(root, hash, checkThreadId(threadId)));

const startTimeoutMs = 5_000;

/**
 * Runs a function under a lock that prevents workers of all versions from creating a thread with this id.
 * @throws WorkflowError `START_PENDING`.
 */
export async function withThreadId<T>(
  root: Root,
  threadId: string,
  act: () => T | Promise<T>,
  timeoutMs: number = startTimeoutMs,
): Promise<T> {
  const path = startLockPath(root, threadId);
  const late = system.clock.elapsed() + timeoutMs;
  const lock = await waitForLock(path, () => {
    if (system.clock.elapsed() <= late) return;
    throw startPending(threadId);
  });
  try {
    return await act();
  } finally {
    removeQuietly(path);
    lock.release();
  }
}

/**
 * Moves all files of a thread to the trash. Durable on return.
 * @throws WorkflowError `THREAD_NOT_FOUND` and the errors of the disk.
 */
export const removeThreadFiles = (root: Root, hash: string, threadId: string): Promise<void> =>
  withThreadId(root, threadId, () => toTrash(root, hash, threadId));

function toTrash(root: Root, hash: string, threadId: string): void {
  const isThere = system.files.exists(dataPath(root, hash, threadId));
  // The process that removed the thread may have ended before the removal was durable.
  if (!isThere && system.files.exists(threadsDir(root, hash))) syncFolder(threadsDir(root, hash));
  if (!isThere) throw notFound(threadId);
  const at = quietWakingTime(root, { hash, threadId });
  moveToTrash(root, { hash, threadId });
  if (at !== null) removeQuietly(duePath(root, { hash, threadId, at }));
}

/**
 * Restores a thread from the trash. Durable on return.
 * @throws WorkflowError `NOT_IN_TRASH` (missing), `THREAD_EXISTS`, and the errors of the disk
 */
export async function restoreThread(root: Root, threadId: string): Promise<ThreadRef> {
  if (!system.files.exists(root)) throw notInTrash(threadId);
  return await withThreadId(root, threadId, () => {
    // If several threads in the trash have this id, restore the thread that was removed first.
    const trashed = trashedThreads(root).findLast((one) => one.threadId === threadId);
    if (!trashed) throw notInTrash(threadId);
    if (threadWithId(root, threadId)) throw restoredTwice(threadId);
    const { hash } = trashed;
    moveFromTrash(root, trashed);
    const at = quietWakingTime(root, { hash, threadId });
    if (at !== null) addDue(root, { hash, threadId, at });
    return { hash, threadId };
  });
}

/**
 * Records that a thread without a driver has moved to another host. Returns the location, which may have existed.
 * Durable on return. After that, this host only reads and copies the thread.
 *
 * @throws WorkflowError `THREAD_MOVED` when the thread is on a third host, and the errors of the disk.
 */
export function noteLeft(
  root: Root,
  ref: ThreadRef,
  to: HostIdentity,
  wasPaused: boolean,
): Location {
  const before = readLocation(root, ref);
  if (before?.host?.id === to.id) return before;
  if (before?.host) throw movedError(ref.threadId, before.host.name);
  const wakes = quietWakingTime(root, ref);
  const location: Location = {
    moves: (before?.moves ?? 0) + 1,
    host: { id: to.id, name: to.name },
    at: system.clock.now(),
    ...((wasPaused || isPaused(root, ref)) && { paused: true }),
  };
  writeLocation(root, ref, location);
  notePaused(root, ref, false);
  // A remaining due entry is corrected when it becomes due.
  if (wakes !== null) removeQuietly(duePath(root, { ...ref, at: wakes }));
  return location;
}
