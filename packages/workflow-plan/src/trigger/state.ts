import { scheduleOf } from "../check/schedule.ts";
import type { PlanMetadata, TriggerConfig } from "../plan/plan.ts";

/**
 * What is stored of a trigger beside its definition.
 *
 * Of a poll `last_result` is the output that the next one is compared with, null when there is none yet, and
 * `last_check_at` the due time of its last check, null when it is to be checked at once. Of a cron trigger `last_check_at` is
 * the moment up to which its slots are settled, `last_result` the next slot, and `last_fire_at` the last that fired.
 */
export type TriggerState = {
  last_result: string | null;
  last_check_at: string | null;
  last_fire_at: string | null;
  last_error: string | null;
};

/** A trigger as it is stored. */
export type StoredTrigger = { trigger: TriggerConfig; state: TriggerState };

/** The state of a trigger that is registered at a moment: confirmed, resumed, or put in the place of another one. */
export function registered(
  trigger: TriggerConfig,
  before: StoredTrigger | null,
  now: number,
): TriggerState {
  const last_fire_at = before?.state.last_fire_at ?? null;
  if (trigger.type === "cron") {
    const last_result = nextSlot(trigger, now);
    return { last_result, last_check_at: isoOf(now), last_fire_at, last_error: null };
  }
  const isKnown = before !== null && isSamePoll(before.trigger, trigger);
  const last_result = isKnown ? before.state.last_result : null;
  return { last_result, last_check_at: null, last_fire_at, last_error: null };
}

/** Whether the outputs of two triggers can be compared. */
function isSamePoll(one: TriggerConfig, other: TriggerConfig): boolean {
  if (one.type !== "poll" || other.type !== "poll") return false;
  return one.check_script === other.check_script && one.diff_mode === other.diff_mode;
}

export type CronTrigger = Extract<TriggerConfig, { type: "cron" }>;
export type PollTrigger = Extract<TriggerConfig, { type: "poll" }>;

/** The first slot of a cron trigger behind a moment; null when there is none any more. */
export function nextSlot({ expression, timezone }: CronTrigger, after: number): string | null {
  const next = scheduleOf(expression, timezone).next(after);
  return next === null ? null : isoOf(next);
}

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

export const isoOf = (time: number): string => new Date(time).toISOString();
