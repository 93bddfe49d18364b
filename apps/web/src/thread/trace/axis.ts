import type { TraceRow } from "./rows.ts";

/** A period without work. On the axis it is a notch from `at` to `to`, regardless of its length. */
export type Notch = { at: number; to: number; ms: number; reason: string };

/**
 * The shared time axis of a trace. Positions are from 0 to 1. Working time is to scale; waits and pauses are notches.
 */
export type Axis = {
  at: (time: number) => number;
  /** The position of a working time, in milliseconds from the start. */
  atWork: (ms: number) => number;
  workMs: number;
  notches: readonly Notch[];
};

export type Span = { from: number; to: number };

const notchShare = 0.03;
const mostShare = 0.3;

const isWait = ({ kind }: TraceRow): boolean =>
  kind === "question" || kind === "wait" || kind === "pause" || kind === "retry";

/** The axis of the rows of a thread; null while no time is known. Open rows last until `now`. Ignores copied rows. */
export function axisOf(rows: readonly TraceRow[], now: number): Axis | null {
  const busy = busyIn(rows, now);
  const [first] = busy;
  if (!first) return null;
  const waits = rows.filter((row) => isWait(row) && row.status !== "copied");
  const ends = waits.map(({ startedAt, endedAt }) => endedAt ?? (startedAt === null ? 0 : now));
  const last = ends.reduce((a, b) => Math.max(a, b), busy.at(-1)?.to ?? 0);
  const workMs = Math.max(1, sum(busy));
  const gaps = busy.map(({ to }, index) => Math.max(0, (busy[index + 1]?.from ?? last) - to));
  const notchMs = notchLength(gaps, workMs);
  const whole = workMs + gaps.reduce((all, gap) => all + Math.min(gap, notchMs), 0);
  const pieces: (Span & { at: number; work: number; length: number })[] = [];
  const notches: Notch[] = [];
  let at = 0;
  let work = 0;
  for (const [index, { from, to }] of busy.entries()) {
    pieces.push({ from, to, at, work, length: to - from });
    at += to - from;
    work += to - from;
    const ms = gaps[index] ?? 0;
    const length = Math.min(ms, notchMs);
    if (length === 0) continue;
    pieces.push({ from: to, to: to + ms, at, work, length });
    const reason = ms > notchMs ? reasonOf(waits, to, to + ms, now) : null;
    if (reason !== null) notches.push({ at: at / whole, to: (at + length) / whole, ms, reason });
    at += length;
  }
  const pieceAt = (value: number, key: "from" | "work") => {
    let low = 0;
    for (let high = pieces.length - 1; low < high; ) {
      const middle = (low + high + 1) >> 1;
      if ((pieces[middle]?.[key] ?? 0) <= value) low = middle;
      else high = middle - 1;
    }
    return pieces[low];
  };
  return {
    workMs,
    notches,
    at(time) {
      const piece = pieceAt(time, "from");
      if (!piece) return 0;
      const share = piece.to > piece.from ? (time - piece.from) / (piece.to - piece.from) : 0;
      return (piece.at + Math.min(1, Math.max(0, share)) * piece.length) / whole;
    },
    atWork(ms) {
      // Steps that took no time start at 0 too.
      const piece = ms === 0 ? pieces[0] : pieceAt(ms, "work");
      return piece ? Math.min(1, (piece.at + ms - piece.work) / whole) : 0;
    },
  };
}

function notchLength(gaps: readonly number[], workMs: number): number {
  const own = workMs * notchShare;
  const long = gaps.filter((gap) => gap > own).length;
  return Math.min(own, (workMs * mostShare) / Math.max(1, long));
}

/** The waits in each row, by row id. The bar of a row omits them. */
export function waitsBelow(rows: readonly TraceRow[], now: number): ReadonlyMap<string, Span[]> {
  const below = new Map<string, Span[]>();
  const waits = rows.filter(isWait);
  if (waits.length === 0) return below;
  const parents = new Map(rows.map(({ id, parent }) => [id, parent]));
  for (const { parent, startedAt, endedAt } of waits) {
    if (startedAt === null) continue;
    const wait = { from: startedAt, to: endedAt ?? now };
    for (let id = parent; id !== null; id = parents.get(id) ?? null) {
      const spans = below.get(id);
      if (spans) spans.push(wait);
      else below.set(id, [wait]);
    }
  }
  return below;
}

function busyIn(rows: readonly TraceRow[], now: number): Span[] {
  const waits = waitsBelow(rows, now);
  const spans = rows.flatMap((row): Span[] => {
    const { id, kind, status, startedAt: from } = row;
    const to = row.endedAt ?? (status === "running" ? now : null);
    if (kind !== "attempt" || status === "copied" || from === null || to === null) return [];
    return without({ from, to: Math.max(from, to) }, waits.get(id) ?? []);
  });
  const merged: Span[] = [];
  for (const span of spans.toSorted((a, b) => a.from - b.from)) {
    const last = merged.at(-1);
    if (last && span.from <= last.to) last.to = Math.max(last.to, span.to);
    else merged.push({ ...span });
  }
  return merged;
}

/** The parts of a span outside of its waits. */
export function without(span: Span, waits: readonly Span[]): Span[] {
  const parts: Span[] = [];
  let { from } = span;
  for (const wait of waits.toSorted((a, b) => a.from - b.from)) {
    if (wait.from > from) parts.push({ from, to: Math.min(wait.from, span.to) });
    from = Math.max(from, wait.to);
    if (from >= span.to) return parts;
  }
  return [...parts, { from, to: span.to }];
}

const sum = (spans: readonly Span[]): number =>
  spans.reduce((all, { from, to }) => all + to - from, 0);

const leastIdleMs = 1_000;

/** The name of the longest wait in a span of time; null for a short span without a wait. */
function reasonOf(
  waits: readonly TraceRow[],
  from: number,
  to: number,
  now: number,
): string | null {
  let longest = 0;
  let reason = to - from < leastIdleMs ? null : "Idle";
  for (const { startedAt, endedAt, kind, name } of waits) {
    if (startedAt === null) continue;
    const shared = Math.min(to, endedAt ?? now) - Math.max(from, startedAt);
    if (shared <= longest) continue;
    longest = shared;
    reason = kind === "question" ? "Waited for an answer" : kind === "retry" ? "Retry" : name;
  }
  return reason;
}

/** Times for about `most` ticks from 0 to `spanMs`, at round numbers of milliseconds. */
export function ticksOf(spanMs: number, most: number): number[] {
  if (spanMs <= 0) return [0];
  const rough = spanMs / most;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= rough) ?? rough;
  return Array.from({ length: Math.floor(spanMs / step) + 1 }, (_, index) => index * step);
}
