import type { ThreadSummary } from "@uncaged/workflow-server/api-types";
import { type ThreadFilter, timesOf } from "../../lib/thread-filter.ts";

export const hourMs = 3_600_000;
const least = 24;
const most = 7 * 24;

const floor = (at: number): number => Math.floor(at / hourMs) * hourMs;

/** The hours to show for the times of a filter: at least a day and at most a week. */
export function windowOf(filter: ThreadFilter, now: number): { start: number; count: number } {
  const { since = now, until = now } = timesOf(filter, now);
  const last = floor(now);
  const isOld = until < now - least * hourMs;
  const end = isOld ? Math.min(last, floor(until) + (least / 2) * hourMs) : last;
  const wanted = (end - floor(since)) / hourMs + 1;
  const count = Math.min(Math.max(wanted, least), most);
  return { start: end - (count - 1) * hourMs, count };
}

/** The figures of an hour. */
export type Hour = ThreadSummary["hours"][number];

const none = { runs: 0, failed: 0, p50Ms: null, p95Ms: null, cost: 0 };

/** All hours of a window; the summary omits hours without runs. */
export function hoursOf({ hours }: ThreadSummary, { start, count }: ReturnType<typeof windowOf>) {
  const known = new Map(hours.map((hour) => [hour.at, hour]));
  return Array.from({ length: count }, (_, index): Hour => {
    const at = start + index * hourMs;
    return known.get(at) ?? { at, ...none };
  });
}

/** The path of bars in a box of one unit per hour and 100 units of height. */
export function barsOf(values: readonly number[], top: number): string {
  return values
    .map((value, index) => {
      if (value === 0) return "";
      const height = Math.max(4, (100 * value) / (top || 1));
      return `M${index + 0.15} 100V${(100 - height).toFixed(1)}h.7V100z`;
    })
    .join("");
}
