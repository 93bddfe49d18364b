import type { FailurePolicy } from "../plan/plan.ts";

export const cancelled = new Error("cancelled");

export const messageOf = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).trim() || "no message";

const longestDelayMs = 3_600_000;

/** Returns the delay of the next attempt in milliseconds after a number of failures, or null without a next attempt. */
export function retryDelay(
  { max_retries, retry_delay_ms }: FailurePolicy,
  failures: number,
): number | null {
  if (failures >= max_retries) return null;
  return Math.min(retry_delay_ms * 2 ** failures, longestDelayMs);
}
