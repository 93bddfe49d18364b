/*
 * Owns: the file `logs/<hash>/<threadId>.resumes.json`, which counts the automatic resumes of a thread since its last
 * step. Does not own: which threads are resumed (record/recovery.ts).
 */
import { isRecord } from "../contract/show.ts";
import { type Interrupted, leftBecause, type RecoveryFacts } from "../record/recovery.ts";
import { system } from "../system/system.ts";
import type { ThreadRef } from "../record/thread.ts";
import { readOwnFile, writeFileAtomic } from "./files.ts";
import { rootMark } from "./identity.ts";
import { LineFile } from "./line-file.ts";
import { parsed, readLocation } from "./location.ts";
import { dataPath, infoPath, resumesPath, type Root } from "./paths.ts";
import { notRecovered } from "../record/errors.ts";

const mostBytes = 4096;
/** A time in milliseconds that is longer than a worker's delay between a record's timestamp and its write. */
const restoredMs = 2_000;

type Environment = Readonly<Record<string, string>>;

/**
 * Returns the reason against an automatic resume of a thread; null if there is none. Does not check for a restored log.
 */
export function leftInRoot(
  root: Root,
  thread: Interrupted,
  env: Environment,
  descriptor: object,
): string | null {
  const { start, steps } = thread;
  const facts: RecoveryFacts = {
    descriptor,
    hasMoved: (readLocation(root, start)?.moves ?? 0) > 0,
    tries: triesOf(root, start, steps.length),
  };
  return leftBecause(thread, facts, { now: system.clock.now(), root: rootMark(root), env });
}

/** Returns the reason against an automatic resume that an unclaimed thread's log file shows; null if there is none. */
export const leftByLog = (root: Root, ref: ThreadRef): string | null =>
  isRestored(root, ref) ? "its log was restored from a copy" : null;

/** Checks that a thread's log was not restored from a copy. @throws WorkflowError `NOT_RECOVERED` */
export function checkUnrestored(root: Root, ref: ThreadRef): void {
  const reason = leftByLog(root, ref);
  if (reason !== null) throw notRecovered(ref.threadId, reason);
}

/**
 * Counts an automatic resume; durable on return. Only the worker that has claimed the thread may call it.
 * @throws WorkflowError `NOT_RECOVERED`
 */
export function noteRecovery(
  root: Root,
  thread: Interrupted,
  env: Environment,
  descriptor: object,
): void {
  const { hash, threadId } = thread.start;
  const reason = leftInRoot(root, thread, env, descriptor);
  if (reason !== null) throw notRecovered(threadId, reason);
  const steps = thread.steps.length;
  const count = triesOf(root, thread.start, steps) + 1;
  writeFileAtomic(resumesPath(root, hash, threadId), `${JSON.stringify({ steps, count })}\n`);
}

function triesOf(root: Root, ref: { hash: string; threadId: string }, steps: number): number {
  const path = resumesPath(root, ref.hash, ref.threadId);
  const bytes = system.files.exists(path) ? readOwnFile(path, mostBytes) : null;
  if (bytes === null) return 0;
  const noted = parsed(bytes);
  const isSound = isRecord(noted) && typeof noted.count === "number";
  // An unreadable file counts as too many resumes.
  if (!isSound) return Number.POSITIVE_INFINITY;
  return noted.steps === steps ? (noted.count as number) : 0;
}

/**
 * Returns whether a log was restored from a copy: its inode changed after the time in the last lines of the log and of
 * the debug log. A copy can't preserve the change time of an inode. A worker that renews a log, which changes the inode
 * too, records its start in the debug log.
 */
function isRestored(root: Root, { hash, threadId }: ThreadRef): boolean {
  const path = dataPath(root, hash, threadId);
  const stat = system.files.stat(path);
  const last = Math.max(lastTime(path), lastTime(infoPath(root, hash, threadId)));
  return stat === null || stat.ctimeMs - last > restoredMs;
}

/** Returns the time in the last line of a log that has a time; 0 without such a line. */
function lastTime(path: string): number {
  try {
    for (const { value } of new LineFile(path).backward()) {
      if (isRecord(value) && typeof value.timestamp === "number") return value.timestamp;
    }
  } catch {
    // A debug log may be missing.
  }
  return 0;
}
