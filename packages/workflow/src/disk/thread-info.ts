import type { Step } from "../contract/contract.ts";
import { type EndRecord, isEnd, type StartRecord } from "../record/record.ts";
import { checkRole, type ThreadRef } from "../record/thread.ts";
import { stateAfter } from "../store/state.ts";
import type { ThreadInfo } from "../store/store.ts";
import { diskError, systemCode } from "./disk-error.ts";
import { LineFile } from "./line-file.ts";
import { movedTo } from "./location.ts";
import { readLast, readLog, readStart, type ThreadLog, type Unreadable } from "./log.ts";
import { isPaused } from "./paused.ts";
import { dataPath, type Root } from "./paths.ts";
import { corruptError, notFound } from "../record/errors.ts";

type Facts = { start: StartRecord; end: EndRecord | null; last: Step | null };

/** Returns a thread's entry in a list, from its log alone: without its pause, owner and move. */
export const infoOf = (ref: ThreadRef, { start, end, last }: Facts, steps: number): ThreadInfo => ({
  hash: ref.hash,
  threadId: ref.threadId,
  name: start.name,
  createdAt: start.timestamp,
  updatedAt: end?.timestamp ?? last?.timestamp ?? start.timestamp,
  records: steps + (end ? 2 : 1),
  state: end ? { kind: "ended" } : stateAfter(last, steps, start.parameters.options.maxRounds),
  paused: false,
  owner: null,
  movedTo: null,
});

/**
 * Reads a thread's log.
 *
 * @throws WorkflowError `THREAD_NOT_FOUND`, `LOG_CORRUPT`, `NEWER_LOG`, and the errors of the disk
 */
export function readThread(path: string, threadId: string): ThreadLog {
  let log: ThreadLog | Unreadable;
  try {
    log = readLog(path, true);
  } catch (error) {
    throw systemCode(error) === "ENOENT" ? notFound(threadId) : diskError(error, "read", path);
  }
  if (log.kind === "empty") throw notFound(threadId);
  if (log.kind === "headless" || log.broken) throw corruptError(path, brokenOf(log));
  for (const step of log.steps) checkRole(path, step);
  return log;
}

const brokenOf = (log: Pick<ThreadLog, "broken"> | Unreadable) =>
  ("broken" in log && log.broken) || { line: 1, offset: 0, reason: "no start record" };

/**
 * Reads a thread's entry in a list from its files; null when the thread is missing. For a damaged log, returns an entry
 * without steps: a claim reports the damage.
 */
export function readInfo(root: Root, ref: ThreadRef, owner: string | null): ThreadInfo | null {
  const { hash, threadId } = ref;
  const path = dataPath(root, hash, threadId);
  try {
    const start = readStart(path);
    const last = readLast(path);
    if (!start || last.kind === "empty") return null;
    if (last.kind !== "record") return infoOf(ref, { start, end: null, last: null }, 0);
    const { record } = last;
    const facts = {
      start,
      end: record && isEnd(record) ? record : null,
      last: record && !isEnd(record) ? record : null,
    };
    const records = new LineFile(path).countTo(last.size)?.count ?? 0;
    return {
      ...infoOf(ref, facts, records - (facts.end ? 2 : 1)),
      paused: isPaused(root, ref),
      owner,
      movedTo: movedTo(root, ref),
    };
  } catch (error) {
    if (systemCode(error) === "ENOENT") return null;
    throw diskError(error, "read", path);
  }
}
