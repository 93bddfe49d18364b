import { failedAmong, type ThreadLog } from "../../lib/thread-log.ts";
import type { ForkPoint } from "../../lib/threads.ts";
import type { TraceRow } from "../trace/rows.ts";

/** The point of a row at which a new thread may start; null for none. */
export function pointOf(
  row: TraceRow | null,
  log: ThreadLog,
  kind: ForkPoint["kind"],
): ForkPoint | null {
  const number = row?.number ?? row?.card?.step?.number ?? null;
  if (number !== null) return { kind, number };
  const hasFailed = log.end !== null && failedAmong(log.cards).some((card) => card === row?.card);
  return hasFailed && kind === "rerun" ? { kind, number: log.steps.length + 1 } : null;
}
