import { useQuery } from "@tanstack/react-query";
import {
  addTally,
  noTally,
  spendingParts,
  type Tally,
  type ThreadTimes,
  timesAt,
  Waited,
} from "@uncaged/workflow/records";
import type { Status, Thread } from "@uncaged/workflow-server/api-types";
import { useNow } from "../../lib/format.ts";
import type { ThreadLog } from "../../lib/thread-log.ts";
import { isEnded, isLive, ledgerQuery } from "../../lib/threads.ts";

/** The times and the spending of a thread, live, with its running attempts. */
export function useFigures(thread: Thread, status: Status, log: ThreadLog) {
  const { threadId, stepCount } = thread;
  const { data: ledger } = useQuery({ ...ledgerQuery(threadId), enabled: isEnded(status) });
  const now = useNow(isLive(status) ? 1_000 : 30_000);
  const { workedMs, waitedMs } = timesOf(thread, status, log, now);
  const steps = Math.max(log.steps.length, stepCount);
  // The ledger leaves out running attempts, so a live thread is counted from its log.
  const spent = (isEnded(status) && ledger?.total) || spentIn(log);
  return { now, workedMs, waitedMs, steps, spent };
}

function spentIn({ cards }: ThreadLog): Tally {
  const parts = [...spendingParts(cards.map(({ attempt }) => attempt))];
  return parts
    .filter(({ kind }) => kind !== "saved")
    .flatMap(({ models }) => models.map(([, tally]) => tally))
    .reduce(addTally, noTally);
}

function timesOf(thread: Thread, status: Status, log: ThreadLog, now: number): ThreadTimes {
  const { createdAt, stepCount } = thread;
  // Shows the server's values until all steps have arrived.
  if (log.steps.length < stepCount) return thread;
  const waited = new Waited(createdAt);
  for (const step of log.steps) waited.take(step);
  const last = log.steps.at(-1)?.timestamp ?? createdAt;
  const updatedAt = isEnded(status) ? Math.max(last, log.lastAt) : last;
  if (isEnded(status)) waited.take({ role: "__end__", timestamp: updatedAt });
  return timesAt({ status, createdAt, updatedAt, waitedMs: waited.ms }, now);
}
