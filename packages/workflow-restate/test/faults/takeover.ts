import type { Effect } from "./audit.ts";

/** A fault, and when it began and ended. `lost`: pid of the lost worker. */
export type Happened = { kind: string; from: number; to: number; lost?: number };

/** Whether no other fault overlapped from a fault's start until `at`. */
export const isAlone = (fault: Happened, at: number, faults: readonly Happened[]): boolean =>
  faults.every((one) => one === fault || one.from > at || one.to < fault.from);

/** Sorted times until other workers continued the threads of a lost worker, in milliseconds. */
export type Takeover = {
  /** Takeovers during which no other fault occurred. */
  alone: number[];
  /** Takeovers during which other faults occurred. */
  among: number[];
};

/** Maximum duration of a step, in milliseconds. If the start is older, the thread rests or a takeover has begun. */
const freshMs = 1000;

/**
 * Returns takeover times by kind of fault: from the loss of a worker until another worker began a step, for each thread
 * that the lost worker was driving.
 */
export function takeovers(
  byThread: ReadonlyMap<string, readonly Effect[]>,
  faults: readonly Happened[],
): Map<string, Takeover> {
  const found = new Map<string, Takeover>();
  for (const fault of faults.filter(({ lost }) => lost !== undefined)) {
    const own = found.get(fault.kind) ?? { alone: [], among: [] };
    found.set(fault.kind, own);
    for (const effects of byThread.values()) {
      const next = takenOver(effects, fault);
      if (!next) continue;
      const times = isAlone(fault, next.at, faults) ? own.alone : own.among;
      times.push(next.at - fault.from);
    }
  }
  for (const { alone, among } of found.values()) {
    for (const times of [alone, among]) times.sort((a, b) => a - b);
  }
  return found;
}

/**
 * Returns the first effect of another worker on a thread; undefined if there is none, or when the lost worker did not
 * drive the thread.
 */
export function takenOver(
  effects: readonly Effect[],
  { from, lost }: Pick<Happened, "from" | "lost">,
): Effect | undefined {
  if (!isDriven(effects, { from, lost })) return undefined;
  const next = effects.find(({ at }) => at > from);
  return next?.pid === lost ? undefined : next;
}

/** Whether a worker was executing a step of a thread when it was lost. */
export function isDriven(
  effects: readonly Effect[],
  { from, lost }: Pick<Happened, "from" | "lost">,
): boolean {
  const last = effects.findLast(({ at }) => at <= from);
  return last !== undefined && !last.asks && last.pid === lost && from - last.at <= freshMs;
}
