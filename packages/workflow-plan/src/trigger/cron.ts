import { scheduleOf } from "../check/schedule.ts";
import type { PlanMetadata } from "../plan/plan.ts";
import { type CronTrigger, isoOf, nextSlot, type TriggerState } from "./state.ts";

/** What becomes of a cron trigger that is looked at: its new state, and the slot that fires. */
export type Settled = { state: Partial<TriggerState>; slot: string | null };

/** How long a slot is on time. */
const onTimeMs = 60_000;

/**
 * Settles the slots of a cron trigger up to now: of all that have passed since it was looked at last at most the latest
 * fires. One is on time within its minute; a later one was missed, and fires unless missed ones are skipped. A clock that was
 * put back settles nothing: the slots from now on come again, and who fires one looks whether it has fired.
 */
export function settleSlots(
  trigger: CronTrigger,
  state: TriggerState,
  missed: PlanMetadata["missed_slots"],
  now: number,
): Settled {
  const since = Date.parse(state.last_check_at ?? isoOf(now));
  const seen = { last_check_at: isoOf(now), last_result: nextSlot(trigger, now), last_error: null };
  const latest = scheduleOf(trigger.expression, trigger.timezone).latest(since, now);
  const isFired = latest !== null && (missed !== "skip" || now - latest < onTimeMs);
  if (!isFired) return { state: seen, slot: null };
  const slot = isoOf(latest);
  return { state: { ...seen, last_fire_at: slot }, slot };
}
