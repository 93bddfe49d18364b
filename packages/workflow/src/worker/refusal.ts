import type { InfoLog } from "../log/info.ts";

/** Tells in a thread's debug log that an answer was refused, before the step with this number. */
export function tellRefused(
  info: InfoLog,
  stepID: string | null,
  reason: string,
  step: number,
): void {
  info.event({ tag: "V5RJ7N2C", type: "pause_rejected", stepID, payload: { reason }, step });
}
