import { isoOf, type PollTrigger, type TriggerState } from "./state.ts";

/** The outcome of a check: its output, or the reason of its failure. */
export type CheckOutcome = { output: string } | { error: string };

/** The result of a poll's check: its new state, and the trigger data if it fires. */
export type Checked = { state: Partial<TriggerState>; data: string | null; failures: number };

/**
 * Compares a check with the previous check. The first output is only stored, unless `firesFirst` is set. A failed check
 * changes only `last_error` and `last_check_at`.
 */
export function compareCheck(
  trigger: PollTrigger,
  state: TriggerState,
  outcome: CheckOutcome,
  { firesFirst, checkedAt }: { firesFirst: boolean; checkedAt: number },
): Checked {
  const last_check_at = isoOf(checkedAt);
  if ("error" in outcome) {
    const failures = failuresOf(state.last_error) + 1;
    const last_error = `${outcome.error} (failures in a row: ${failures})`;
    return { state: { last_error, last_check_at }, data: null, failures };
  }
  const { output } = outcome;
  const { last_result } = state;
  // An empty output may be a failure. If it were stored, all items would be new in the next output.
  if (trigger.diff_mode === "new_items" && last_result !== null && output.trim() === "")
    return { state: { last_check_at, last_error: null }, data: null, failures: 0 };
  const isQuiet = last_result === null && !firesFirst;
  const data = isQuiet ? null : newsIn(output, last_result, trigger);
  const seen = { last_result: output, last_check_at, last_error: null };
  if (data === null) return { state: seen, data, failures: 0 };
  return { state: { ...seen, last_fire_at: last_check_at }, data, failures: 0 };
}

/** Returns the number of consecutive failed checks. */
function failuresOf(error: string | null): number {
  return Number(/ \(failures in a row: (\d+)\)$/.exec(error ?? "")?.[1] ?? 0);
}

/** Returns the new part of an output as a run's trigger data; null if nothing is new. */
function newsIn(output: string, before: string | null, { diff_mode }: PollTrigger): string | null {
  if (diff_mode === "new_items") return newItems(before ?? "", output);
  return output === before ? null : output;
}

/** Returns the distinct nonblank lines of an output that the previous output lacks, or null if there are none. */
function newItems(before: string, output: string): string | null {
  const seen = new Set(linesOf(before));
  const found = linesOf(output).filter((line) => {
    if (line.trim() === "" || seen.has(line)) return false;
    seen.add(line);
    return true;
  });
  return found.length === 0 ? null : found.join("\n");
}

const linesOf = (text: string): string[] => text.split(/\r?\n/);

/**
 * Returns the due time at or before a moment, counted in intervals from a known due time. Skips due times during a slow
 * check.
 */
export function lastDue(start: number, now: number, { interval_seconds }: PollTrigger): number {
  const interval = interval_seconds * 1000;
  return now <= start ? start : start + Math.floor((now - start) / interval) * interval;
}
