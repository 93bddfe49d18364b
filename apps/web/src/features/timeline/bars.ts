import { type Card, roleOf } from "../../lib/thread-log.ts";

/** A step as a bar in the lane of its role; times in milliseconds since the epoch. */
export type Bar = {
  number: number | null;
  from: number;
  to: number;
  isLive: boolean;
};

export type Lane = { role: string; bars: Bar[]; totalMs: number };

type Timeline = { from: number; to: number; lanes: Lane[] };

/**
 * The steps of a thread by role and time. What is at work reaches to `now`; null when nothing is. What
 * was committed before `since` is left out: a fork brought it along.
 */
export function timelineOf(
  cards: readonly Card[],
  now: number | null,
  since: number,
): Timeline | null {
  const lanes = new Map<string, Lane>();
  let from = Number.POSITIVE_INFINITY;
  let to = Number.NEGATIVE_INFINITY;
  for (const card of cards) {
    const end = card.step?.timestamp ?? now;
    if (end === null || end < since) continue;
    const begin = Math.max(Math.min(card.beganAt ?? end, end), since);
    const role = laneOf(roleOf(card));
    const lane = lanes.get(role) ?? { role, bars: [], totalMs: 0 };
    lanes.set(role, lane);
    lane.bars.push({
      number: card.step?.number ?? null,
      from: begin,
      to: end,
      isLive: card.step === null,
    });
    lane.totalMs += end - begin;
    from = Math.min(from, begin);
    to = Math.max(to, end);
  }
  return lanes.size === 0 ? null : { from, to, lanes: [...lanes.values()] };
}

// The time that an answer took is the time that the question waited.
const laneOf = (role: string): string => (role === "__input__" ? "__wait__" : role);

/** Some round moments from 0 to a span, about `most` of them. */
export function ticksOf(spanMs: number, most: number): number[] {
  if (spanMs <= 0) return [0];
  const rough = spanMs / most;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= rough) ?? rough;
  return Array.from({ length: Math.floor(spanMs / step) + 1 }, (_, index) => index * step);
}
