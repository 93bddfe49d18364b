import {
  type LogOutline,
  readLog,
  readStart,
  type ThreadLog,
  type Unreadable,
} from "../../disk/log.ts";
import type { StartRecord } from "../../record/record.ts";
import { diskError, systemCode } from "../../disk/disk-error.ts";
import { dataPath, loggedHashes, type Root, threadIdsOf } from "../../disk/paths.ts";
import { isThreadId } from "../../contract/names.ts";
import { system } from "../../system/system.ts";
import { notedOf, threadWithId } from "../../disk/threads.ts";
import { trashedThreads } from "../../disk/trash.ts";
import { pickThread } from "../../record/selection.ts";
import type { LiveFacts, ThreadRef, ThreadView } from "../../record/thread.ts";
import { headlessView, viewOf } from "../../record/view.ts";
import { type Drivers, LiveWorkers } from "../workers/live.ts";
import { notFound } from "../../record/errors.ts";

/** All threads of the storage root, unordered. */
export const allThreads = (root: Root): ThreadRef[] => threadsOf(root, loggedHashes(root));

/** The threads of some bundles, unordered. */
export const threadsOf = (root: Root, hashes: readonly string[]): ThreadRef[] =>
  hashes.flatMap((hash) => threadIdsOf(root, hash).map((threadId) => ({ hash, threadId })));

/** Finds the thread that a text selects. @throws WorkflowError the errors of `pickThread`. */
export async function findThread(root: Root, text: string): Promise<ThreadRef> {
  if (!isThreadId(text)) return pickThread(allThreads(root), text);
  const found = threadWithId(root, text);
  if (found) return found;
  const isRemoved = trashedThreads(root).some(({ threadId }) => threadId === text);
  throw isRemoved
    ? notFound(text, `it is in the trash: uncaged-workflow thread restore ${text}`)
    : notFound(text);
}

/** A thread's start record, or null if it is missing or unreadable. */
export function startOf(root: Root, { hash, threadId }: ThreadRef): StartRecord | null {
  try {
    return readStart(dataPath(root, hash, threadId));
  } catch {
    return null;
  }
}

/** Reads a thread's log and its worker's report of the same moment. @throws the system's error. */
export async function readDriven<Log extends ThreadLog | LogOutline>(
  root: Root,
  ref: ThreadRef,
  read: (path: string) => Log | Unreadable,
  live: Drivers,
): Promise<{ log: Log | Unreadable; driver: LiveFacts | null }> {
  const path = dataPath(root, ref.hash, ref.threadId);
  const log = read(path);
  if (!("start" in log) || log.end || log.broken) return { log, driver: null };
  const driver = await live.find(ref);
  // Read the log again if it changed: the worker's report refers to the current log.
  return { log: sizeOf(path) === log.size + log.torn ? log : read(path), driver };
}

/** A file's size in bytes; undefined if it is missing. */
export const sizeOf = (path: string): number | undefined => system.files.stat(path)?.size;

/** Reads a whole thread. @throws WorkflowError `THREAD_NOT_FOUND` (missing); the errors of the disk. */
export async function readView(
  root: Root,
  ref: ThreadRef,
  live: Drivers = new LiveWorkers(root),
): Promise<ThreadView> {
  const { threadId, hash } = ref;
  const { log, driver } = await readDriven(root, ref, readLog, live).catch((error: unknown) => {
    if (systemCode(error) === "ENOENT") throw notFound(threadId);
    throw diskError(error, "read", dataPath(root, hash, threadId));
  });
  if (log.kind === "empty") throw notFound(threadId);
  if (log.kind === "headless") return headlessView(ref, log.broken);
  return viewOf(ref, log, driver, notedOf(root, ref), system.clock.now());
}
