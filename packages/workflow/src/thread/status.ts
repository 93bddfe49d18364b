import { type Step, WAIT } from "../contract/contract.ts";
import type { LiveStatus } from "../control/control.ts";
import type { Break } from "../log/log.ts";
import type { EndRecord } from "../log/record.ts";
import type { Status, ThreadStatus } from "./thread.ts";

/** What a log says of its thread's status. */
export type LogFacts = { broken: Break | null; end: EndRecord | null; last: Step | null };

/** What a live worker says of a thread that it drives. */
export type LiveFacts = { status: LiveStatus; pid: number };

/**
 * The status of a thread: what its log says first, then what its live worker says (null when no worker
 * answers for it). It is never stored.
 */
export function statusOf({ broken, end, last }: LogFacts, live: LiveFacts | null): ThreadStatus {
  if (broken) return { status: "corrupt", broken };
  if (end) return endedStatus(end);
  const waits = last?.role === WAIT && (!live || live.status === "waiting");
  if (waits) return { status: "waiting", question: last, pid: live?.pid ?? null };
  if (live) return { status: live.status === "paused" ? "paused" : "running", pid: live.pid };
  return { status: "interrupted" };
}

/** Whether a thread with this status goes on without anyone's doing, so that it makes sense to wait for it. */
export const isMoving = (status: Status): boolean => status === "running" || status === "paused";

/** The status of a thread whose log has its end. */
export function endedStatus({ content, meta }: EndRecord): ThreadStatus {
  const result = { returnCode: meta.returnCode, summary: content };
  switch (meta.reason) {
    case "killed":
      return { status: "killed", result };
    case "maxRounds":
      return { status: "completed", result };
    case "returned":
      if (meta.returnCode === 0) return { status: "completed", result };
      break;
    case "failed":
  }
  return { status: "failed", result, error: meta.error ?? null };
}
