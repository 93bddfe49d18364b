import { existsSync, statSync } from "node:fs";
import { WorkflowError } from "../contract/error.ts";
import { LineFile } from "../log/line-file.ts";
import { type Break, outlineLog, readLog } from "../log/log.ts";
import type { StartRecord } from "../log/record.ts";
import { diskError, systemCode } from "../storage/disk-error.ts";
import { dataPath, isThreadId, loggedHashes, type Root, threadIdsOf } from "../storage/paths.ts";
import { notFound, pickThread } from "../thread/selection.ts";
import { statusOf, type ThreadRef, type ThreadView } from "../thread/thread.ts";
import { type Alive, LiveWorkers } from "./live.ts";

/** All threads of the storage root, in no order. */
export const allThreads = (root: Root): ThreadRef[] => threadsOf(root, loggedHashes(root));

/** The threads of some bundles, in no order. */
export const threadsOf = (root: Root, hashes: readonly string[]): ThreadRef[] =>
  hashes.flatMap((hash) => threadIdsOf(root, hash).map((threadId) => ({ hash, threadId })));

/**
 * The thread that a text selects: its id, any unique prefix or suffix of it, or `@last`.
 *
 * @throws WorkflowError `THREAD_NOT_FOUND` (missing), `THREAD_AMBIGUOUS` (usage).
 */
export async function findThread(root: Root, text: string): Promise<ThreadRef> {
  if (!isThreadId(text)) return pickThread(allThreads(root), text);
  for (const hash of loggedHashes(root)) {
    if (existsSync(dataPath(root, hash, text))) return { hash, threadId: text };
  }
  throw notFound(text);
}

/** Where the thread with this very id began, and as what; null when there is none. */
export function createdThread(
  root: Root,
  threadId: string,
): (ThreadRef & { workflow: string }) | null {
  for (const hash of loggedHashes(root)) {
    for (const { value } of new LineFile(dataPath(root, hash, threadId)).forward()) {
      const { name } = value as StartRecord;
      return { threadId, workflow: name, hash };
    }
  }
  return null;
}

/**
 * A whole thread.
 *
 * @throws WorkflowError `THREAD_NOT_FOUND` (missing), and those of the disk.
 */
export async function readView(root: Root, ref: ThreadRef): Promise<ThreadView> {
  const path = dataPath(root, ref.hash, ref.threadId);
  const read = () => open(ref, () => readLog(path), path);
  let log = read();
  let alive: Alive | null = null;
  if (log.kind === "thread" && !log.end && !log.broken) {
    alive = await new LiveWorkers(root).find(ref);
    // What the worker reports is true of the log as it is by now.
    if (sizeOf(path) !== log.size + log.torn) log = read();
  }
  if (log.kind === "empty") throw notFound(ref.threadId);
  if (log.kind === "headless") return headless(ref, log.broken);
  const { start, steps } = log;
  const { prompt, params } = start.parameters;
  return {
    ...statusOf({ ...log, last: steps.at(-1) ?? null }, alive),
    threadId: ref.threadId,
    workflow: start.name,
    hash: ref.hash,
    prompt,
    ...(params === undefined ? {} : { params }),
    maxRounds: start.parameters.options.maxRounds,
    createdAt: start.timestamp,
    steps,
    forkFrom: start.forkFrom ?? null,
  };
}

/** A file's length in bytes; undefined when there is none. */
export const sizeOf = (path: string): number | undefined =>
  statSync(path, { throwIfNoEntry: false })?.size;

function headless({ threadId, hash }: ThreadRef, broken: Break): ThreadView {
  return {
    threadId,
    workflow: "",
    hash,
    status: "corrupt",
    broken,
    prompt: "",
    maxRounds: 0,
    createdAt: timeOf(threadId),
    steps: [],
    forkFrom: null,
  };
}

/** Where a thread's log is broken, or null. */
export function breakOf(
  root: Root,
  { hash, threadId }: ThreadRef,
): (Break & { path: string }) | null {
  const path = dataPath(root, hash, threadId);
  const log = outlineLog(path);
  const broken = log.kind === "empty" ? null : log.broken;
  return broken ? { ...broken, path } : null;
}

const crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/** The time in a ULID, in milliseconds since the epoch: its first ten digits. */
export function timeOf(threadId: string): number {
  let time = 0;
  for (const digit of threadId.slice(0, 10)) time = time * 32 + crockford.indexOf(digit);
  return time;
}

function open<T>(ref: ThreadRef, read: () => T, path: string): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof WorkflowError) throw error;
    throw systemCode(error) === "ENOENT" ? notFound(ref.threadId) : diskError(error, "read", path);
  }
}
