import type { Step } from "../contract/contract.ts";
import type { EndRecord, StartRecord } from "../record/record.ts";
import { notFound } from "../record/selection.ts";
import { checkRole, corruptError, type ThreadRef } from "../record/thread.ts";
import { stateAfter } from "../store/state.ts";
import type { ThreadInfo } from "../store/store.ts";
import { diskError, systemCode } from "./disk-error.ts";
import { readLog, type ThreadLog, type Unreadable } from "./log.ts";

type Facts = { start: StartRecord; end: EndRecord | null; last: Step | null };

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

/** @throws WorkflowError `THREAD_NOT_FOUND`, `LOG_CORRUPT`, `NEWER_LOG`, or that of the disk. */
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
