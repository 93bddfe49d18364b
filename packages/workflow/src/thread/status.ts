import { WAIT } from "../contract/reserved.ts";
import type { LiveStatus } from "../control/control.ts";
import type { Break, EndRecord } from "../thread-log/record.ts";
import type { Status } from "./thread.ts";

/** What a log says of how its thread stands. */
export type LogFacts = { broken: Break | null; end: EndRecord | null; lastRole: string | null };

/**
 * The status of a thread: what its log says first, then what its live worker says (null when no worker
 * answers for it). It is never stored.
 */
export function statusOf(log: LogFacts, live: LiveStatus | null): Status {
  if (log.broken) return "corrupt";
  if (log.end) return endedStatus(log.end);
  if (live) return live;
  return log.lastRole === WAIT ? "waiting" : "interrupted";
}

/** Whether a thread with this status goes on by itself, so that to wait for it makes sense. */
export const isMoving = (status: Status): boolean => status === "running" || status === "paused";

function endedStatus({ meta }: EndRecord): Status {
  switch (meta.reason) {
    case "killed":
      return "killed";
    case "maxRounds":
      return "completed";
    case "returned":
      return meta.returnCode === 0 ? "completed" : "failed";
    default:
      return "failed";
  }
}
