/*
 * Owns: the file `logs/<hash>/<threadId>.resumes.json`, which counts how often a thread was resumed unasked since its last step.
 * Does not own: which threads are (record/recovery.ts).
 */
import { isRecord } from "../contract/show.ts";
import {
  type Interrupted,
  leftBecause,
  notRecovered,
  type RecoveryFacts,
} from "../record/recovery.ts";
import { system } from "../system/system.ts";
import { readOwnFile, writeFileAtomic } from "./files.ts";
import { rootMark } from "./identity.ts";
import { parsed, readLocation } from "./location.ts";
import { dataPath, resumesPath, type Root } from "./paths.ts";

const mostBytes = 4096;
/** A log changes its content and its other properties at once, but for a rename by its worker. */
const restoredMs = 60_000;

type Environment = Readonly<Record<string, string>>;

/** Why a thread of a storage root is not resumed unasked; null: it may be. */
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
    isRestored: isRestored(dataPath(root, start.hash, start.threadId)),
    tries: triesOf(root, start, steps.length),
  };
  return leftBecause(thread, facts, { now: system.clock.now(), root: rootMark(root), env });
}

/**
 * Counts that a thread is resumed unasked: it is durable on return. For the worker that has claimed it.
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
  // What can't be read counts against it.
  if (!isSound) return Number.POSITIVE_INFINITY;
  return noted.steps === steps ? (noted.count as number) : 0;
}

/** A copy keeps the time of the last write at most, and never that of the last change. */
function isRestored(path: string): boolean {
  const stat = system.files.stat(path);
  return stat === null || stat.ctimeMs - stat.mtimeMs > restoredMs;
}
