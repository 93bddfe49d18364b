import { existsSync } from "node:fs";
import { type WorkflowError, failedError } from "../contract/error.ts";
import { type Break, readLog, type ThreadLog } from "../log/log.ts";
import type { EndRecord } from "../log/record.ts";
import { type TornTail, truncateTail, LogWriter, type Writing } from "../log/writer.ts";
import { diskError } from "../storage/disk-error.ts";
import { dataPath, type Root } from "../storage/paths.ts";
import { notFound } from "../thread/selection.ts";

/** A log that this worker continues; `cut` describes a torn tail that was cut off it. */
export type TakenOver = { log: ThreadLog; writer: LogWriter; cut: TornTail | null };

/**
 * Opens the log of a thread that nobody drives, to continue where it ends.
 *
 * @throws WorkflowError `THREAD_NOT_FOUND`, `THREAD_ENDED`, `LOG_CORRUPT`, or that of the disk.
 */
export function takeOver(root: Root, hash: string, threadId: string, writing: Writing): TakenOver {
  const path = dataPath(root, hash, threadId);
  if (!existsSync(path)) throw notFound(threadId);
  const log = readWhole(path, readLog);
  if (log.kind === "empty") throw notFound(threadId);
  if (log.kind === "headless") throw corrupt(path, log.broken);
  if (log.broken) throw corrupt(path, log.broken);
  if (log.end) throw ended(threadId, log.end);
  const cut = log.torn > 0 ? truncateTail(path, threadId, log.size, log.torn) : null;
  return { log, writer: LogWriter.open(path, log.size, writing), cut };
}

/** Reads a log. @throws WorkflowError that of the disk. */
export function readWhole<T>(path: string, read: (path: string) => T): T {
  try {
    return read(path);
  } catch (error) {
    throw diskError(error, "read", path);
  }
}

/** The error that a thread's log is broken, naming the place. */
export function corrupt(path: string, { line, offset, reason }: Break): WorkflowError {
  return failedError(
    "LOG_CORRUPT",
    `${path}:${line}: ${reason} (byte ${offset})`,
    "nothing was changed; put the file back from a backup, or fork the steps before that line",
  );
}

function ended(threadId: string, { meta }: EndRecord): WorkflowError {
  const how = meta.reason === "returned" ? `returned ${meta.returnCode}` : meta.reason;
  return failedError(
    "THREAD_ENDED",
    `${threadId} has ended (${how}), and an ended log is final`,
    `take it up in a new thread: uncaged-workflow retry ${threadId}, or fork`,
  );
}
