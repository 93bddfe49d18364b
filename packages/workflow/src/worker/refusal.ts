import type { InfoLog } from "../thread-log/info.ts";

/** Tells in a thread's debug log that an answer was refused, before the step with this number. */
export function tellRefused(
  info: InfoLog,
  stepID: string | null,
  reason: string,
  step: number,
): void {
  info.event("V5RJ7N2C", "pause_rejected", stepID, { reason }, step);
}
