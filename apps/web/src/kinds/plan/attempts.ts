import type { NumberedStep } from "@uncaged/workflow-server/api-types";

export type PlanAttempt = {
  /** Number of the attempt, from 1. Manual retries continue the count. */
  number: number;
  state: "running" | "succeeded" | "failed";
  startedAt: number;
  endedAt: number | null;
  error: string | null;
  /** Start of the next attempt. */
  nextAt: number | null;
  /** Number of restarts after interruptions. */
  interruptions: number;
};

/** The attempts of each step, from the records of the run's thread. */
export function attemptsOf(records: readonly NumberedStep[]): Map<string, PlanAttempt[]> {
  const all = new Map<string, PlanAttempt[]>();
  for (const { role, meta, timestamp } of records) {
    const { event, attempt, error, delayMs } = meta;
    if (typeof attempt !== "number") continue;
    const own = all.get(role) ?? [];
    const last = own.at(-1);
    if (event === "started") {
      if (last?.number === attempt) last.interruptions += 1;
      else own.push(begun(attempt, timestamp));
      all.set(role, own);
      continue;
    }
    const state = ends.get(event);
    if (!state || last?.number !== attempt) continue;
    last.state = state;
    last.endedAt = timestamp;
    last.error = typeof error === "string" ? error : null;
    last.nextAt = typeof delayMs === "number" ? timestamp + delayMs : null;
  }
  return all;
}

const begun = (number: number, startedAt: number): PlanAttempt => ({
  ...{ number, state: "running", startedAt, endedAt: null, error: null, nextAt: null },
  interruptions: 0,
});

const ends: ReadonlyMap<unknown, PlanAttempt["state"]> = new Map([
  ["attempt_failed", "failed"],
  ["failed", "failed"],
  ["succeeded", "succeeded"],
]);
