import { scheduleOf } from "../check/schedule.ts";
import type { PlanMetadata, TriggerConfig } from "../plan/plan.ts";

/**
 * The stored state of a trigger, without its definition.
 *
 * For a poll, `last_result` is the output to compare the next output with (null when there is none yet), and
 * `last_check_at` the due time of its last check (null when a check is due at once). For a cron trigger,
 * `last_check_at` is the time up to which its slots are settled, `last_result` the next slot, and `last_fire_at` the
 * last slot that fired.
 */
export type TriggerState = {
  last_result: string | null;
  last_check_at: string | null;
  last_fire_at: string | null;
  last_error: string | null;
};

/** A trigger with its stored state. */
export type StoredTrigger = { trigger: TriggerConfig; state: TriggerState };

/** Returns the state of a trigger at its registration: when it is confirmed, resumed, or replaces another trigger. */
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

/** Tells whether the outputs of two triggers can be compared. */
function isSamePoll(one: TriggerConfig, other: TriggerConfig): boolean {
  if (one.type !== "poll" || other.type !== "poll") return false;
  return one.check_script === other.check_script && one.diff_mode === other.diff_mode;
}

export type CronTrigger = Extract<TriggerConfig, { type: "cron" }>;
export type PollTrigger = Extract<TriggerConfig, { type: "poll" }>;

/** Returns the first slot of a cron trigger after a time; null if there is none. */
export function nextSlot({ expression, timezone }: CronTrigger, after: number): string | null {
  const next = scheduleOf(expression, timezone).next(after);
  return next === null ? null : isoOf(next);
}

/** The result of checking a cron trigger: its new state, and the slot that fires. */
export type Settled = { state: Partial<TriggerState>; slot: string | null };

/** The time for which a slot is on time, in milliseconds. */
const onTimeMs = 60_000;

/**
 * Settles the slots of a cron trigger up to now: of all slots since the last check at most the latest fires. A slot is
 * on time within its minute; a later slot was missed, and fires unless missed slots are skipped. If the clock was set
 * back, no slot is settled: the slots from now on are due again, and the caller checks whether a slot has already
 * fired.
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
