import { sleepsUntil } from "@uncaged/workflow/records";
import type { Status } from "@uncaged/workflow-server/api-types";
import { sleepRole } from "../../lib/format.ts";
import { type Card, nameOf } from "../../lib/thread-log.ts";
import { isLive } from "../../lib/threads.ts";

/** An attempt, or the wait for an answer, in the lane of its role. Times are in milliseconds. */
export type Bar = {
  key: string;
  /** The number of the step; null without a step. */
  number: number | null;
  from: number;
  to: number;
  /** Row within the lane, from 0. Concurrent attempts are in separate rows. */
  row: number;
  state: "committed" | "running" | "waiting" | "other";
};

export type Lane = { role: string; bars: Bar[]; rows: number; totalMs: number };

type Timeline = { from: number; to: number; lanes: Lane[] };

type Span = Omit<Bar, "row"> & { role: string };

/**
 * The attempts of a thread by role and time, without attempts copied by a fork. Running attempts end at `now`.
 * Waits for answers have bars too.
 */
export function timelineOf(cards: readonly Card[], status: Status, now: number): Timeline | null {
  const attempts = cards.flatMap((card) => spanOf(card, isLive(status) ? now : null));
  const spans = [...attempts, ...waitsOf(cards, status === "waiting" ? now : null)];
  if (spans.length === 0) return null;
  const lanes = new Map<string, { lane: Lane; ends: number[] }>();
  for (const { role, ...span } of spans.toSorted((a, b) => a.from - b.from)) {
    const known = lanes.get(role);
    const { lane, ends } = known ?? { lane: { role, bars: [], rows: 0, totalMs: 0 }, ends: [] };
    if (!known) lanes.set(role, { lane, ends });
    const free = ends.findIndex((end) => end <= span.from);
    const row = free < 0 ? ends.length : free;
    ends[row] = span.to;
    lane.bars.push({ ...span, row });
    lane.rows = ends.length;
    lane.totalMs += span.to - span.from;
  }
  return {
    from: spans.reduce((least, { from }) => Math.min(least, from), Number.POSITIVE_INFINITY),
    to: spans.reduce((most, { to }) => Math.max(most, to), 0),
    lanes: [...lanes.values()].map(({ lane }) => lane),
  };
}

function spanOf({ attempt, step }: Card, now: number | null): Span[] {
  const { attempt: key, startedAt: from, endedAt, status, saved } = attempt;
  const to = endedAt ?? now;
  const isQuestion = step?.role === "__wait__" || step?.role === "__input__";
  if (saved || isQuestion || from === null || to === null || to < from) return [];
  const state = status === "committed" || status === "running" ? status : "other";
  return [{ role: nameOf(attempt) ?? "unnamed", key, number: attempt.step, from, to, state }];
}

function waitsOf(cards: readonly Card[], now: number | null): Span[] {
  const steps = new Map(
    cards.flatMap(({ attempt, step }) =>
      step && !attempt.saved ? [[step.number, step] as const] : [],
    ),
  );
  return [...steps.values()].flatMap((step): Span[] => {
    const { number, timestamp: from } = step;
    const to = steps.get(number + 1)?.timestamp ?? now;
    if (step.role !== "__wait__" || to === null) return [];
    const role = sleepsUntil(step) === null ? step.role : sleepRole;
    return [{ role, key: `wait-${number}`, number, from, to, state: "waiting" }];
  });
}

/** Times for about `most` ticks from 0 to `spanMs`, at round numbers. In milliseconds. */
export function ticksOf(spanMs: number, most: number): number[] {
  if (spanMs <= 0) return [0];
  const rough = spanMs / most;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= rough) ?? rough;
  return Array.from({ length: Math.floor(spanMs / step) + 1 }, (_, index) => index * step);
}
