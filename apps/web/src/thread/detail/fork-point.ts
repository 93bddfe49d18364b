import type { ForkPoint } from "../../lib/threads.ts";
import type { TraceRow } from "../trace/rows.ts";

/** The point of a row at which a new thread may start; null for none. */
export function pointOf(row: TraceRow | null, kind: ForkPoint["kind"]): ForkPoint | null {
  const failedAt = kind === "rerun" ? row?.failedAt : null;
  const number = row?.number ?? row?.card?.step?.number ?? failedAt ?? null;
  return number === null ? null : { kind, number };
}
