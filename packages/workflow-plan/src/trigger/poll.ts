import { isoOf, type PollTrigger, type TriggerState } from "./state.ts";

/** What a check came to: its output, or why it failed. */
export type CheckOutcome = { output: string } | { error: string };

/** What becomes of a poll that was checked: its new state, and what fires with which data. */
export type Checked = { state: Partial<TriggerState>; data: string | null; failures: number };

/**
 * Compares a check with the one before. The first output of all is only kept, unless it is to fire; a failed check changes
 * `last_error` and `last_check_at` alone.
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
  // A check that prints nothing has perhaps failed: what was there would be new when it comes back.
  if (trigger.diff_mode === "new_items" && last_result !== null && output.trim() === "")
    return { state: { last_check_at, last_error: null }, data: null, failures: 0 };
  const isQuiet = last_result === null && !firesFirst;
  const data = isQuiet ? null : newsIn(output, last_result, trigger);
  const seen = { last_result: output, last_check_at, last_error: null };
  if (data === null) return { state: seen, data, failures: 0 };
  return { state: { ...seen, last_fire_at: last_check_at }, data, failures: 0 };
}

/** How many checks in a row have failed. */
function failuresOf(error: string | null): number {
  return Number(/ \(failures in a row: (\d+)\)$/.exec(error ?? "")?.[1] ?? 0);
}

/** What is new in an output, as a run's trigger data; null when nothing is. */
function newsIn(output: string, before: string | null, { diff_mode }: PollTrigger): string | null {
  if (diff_mode === "new_items") return newItems(before ?? "", output);
  return output === before ? null : output;
}

/** The lines of an output that are not blank and were not in the one before, each once; null when there are none. */
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

/** The due time at or before a moment, counted in intervals from one that is known: what a check was too slow for is left out. */
export function lastDue(start: number, now: number, { interval_seconds }: PollTrigger): number {
  const interval = interval_seconds * 1000;
  return now <= start ? start : start + Math.floor((now - start) / interval) * interval;
}
