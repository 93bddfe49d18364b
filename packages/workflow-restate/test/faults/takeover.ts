import type { Effect } from "./audit.ts";

/** A fault, and from when to when something was amiss. `lost`: the worker that could not go on. */
export type Happened = { kind: string; from: number; to: number; lost?: number };

/** Whether nothing else was amiss from a fault's beginning until `at`. */
export const isAlone = (fault: Happened, at: number, faults: readonly Happened[]): boolean =>
  faults.every((one) => one === fault || one.from > at || one.to < fault.from);

/** Times until other workers continued the threads of a lost one, in ms, sorted. */
export type Takeover = {
  /** Where nothing else failed meanwhile. */
  alone: number[];
  /** Where other faults were in between. */
  among: number[];
};

/** A thread whose step was begun so long ago is not in the middle of one: it rests, or is being taken over already. */
const freshMs = 1000;

/**
 * For each kind of fault that has lost a worker, and each thread that this worker was driving then: how long it took until
 * another one had begun a step of it.
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

/** First effect of another worker on a thread; undefined when there is none or the lost worker did not drive the thread. */
export function takenOver(
  effects: readonly Effect[],
  { from, lost }: Pick<Happened, "from" | "lost">,
): Effect | undefined {
  if (!isDriven(effects, { from, lost })) return undefined;
  const next = effects.find(({ at }) => at > from);
  return next?.pid === lost ? undefined : next;
}

/** Whether a worker was in the middle of a step of a thread when it was lost. */
export function isDriven(
  effects: readonly Effect[],
  { from, lost }: Pick<Happened, "from" | "lost">,
): boolean {
  const last = effects.findLast(({ at }) => at <= from);
  return last !== undefined && !last.asks && last.pid === lost && from - last.at <= freshMs;
}
