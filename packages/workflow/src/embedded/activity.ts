import type { LiveFacts, ThreadRef } from "../record/thread.ts";
import type { ThreadInfo, ThreadStore } from "../store/store.ts";
import { system } from "../system/system.ts";

/** A thread that is driven or paused. `facts` is a text that changes with the thread's status. */
export type ActiveThread = ThreadRef & { facts: string };

/** Finds the threads of a store that workers drive. */
export interface Activity {
  /** Interval of checks for changes that the store does not report, in milliseconds. */
  readonly lookEveryMs: number;
  /** Returns the driver's facts; null when the thread is not driven. `info` is the thread in the store. */
  find(ref: ThreadRef, info: ThreadInfo | null): LiveFacts | null;
  /** Lists the threads that are driven or paused, oldest first. */
  active(): Promise<ActiveThread[]>;
}

/**
 * Time in milliseconds for which a runnable thread counts as driven although no worker has claimed it. A worker with
 * free capacity claims the thread within seconds.
 */
const graceMs = 10_000;
/** Maximum number of threads whose claims are remembered. */
const mostSeen = 10_000;

/**
 * Finds the driven threads by the claims in their store. A runnable thread without a claim counts as running while a
 * worker may be about to claim it: for a short time after its last record or claim, and while workers hold other
 * threads. Otherwise it counts as interrupted, like a postponed thread.
 */
export class StoreActivity implements Activity {
  readonly lookEveryMs = 1_000;
  readonly #store: ThreadStore;
  /** The times until which threads with an earlier claim count as driven, by the monotonic clock. */
  readonly #claimed = new Map<string, number>();
  #busyUntil = 0;

  constructor(store: ThreadStore) {
    this.#store = store;
  }

  find({ hash, threadId }: ThreadRef, info: ThreadInfo | null): LiveFacts | null {
    if (info?.hash !== hash || info.state.kind === "ended" || info.movedTo !== null) return null;
    const { owner, paused, state, updatedAt } = info;
    const now = system.clock.elapsed();
    if (owner !== null) {
      if (this.#claimed.size >= mostSeen) this.#claimed.clear();
      this.#claimed.set(threadId, now + graceMs);
      this.#busyUntil = now + graceMs;
      const pid = pidOf(owner);
      // The holder is about to continue a due thread.
      const isDue = state.kind === "waiting" && (state.dueAt ?? Infinity) <= system.clock.now();
      if (state.kind === "waiting" && !isDue) return { status: "waiting", pid };
      return { status: "running", pid, ...(paused && { pausing: true }) };
    }
    if (state.kind === "waiting" || paused) return null;
    if ((info.postponedUntil ?? 0) > system.clock.now()) return null;
    const isFresh = system.clock.now() - updatedAt < graceMs;
    const seenUntil = Math.max(this.#claimed.get(threadId) ?? 0, this.#busyUntil);
    return isFresh || now < seenUntil ? { status: "running", pid: 0 } : null;
  }

  async active(): Promise<(ThreadInfo & ActiveThread)[]> {
    const found = await activeIn(this.#store);
    if (found.some(({ owner }) => owner !== null)) {
      this.#busyUntil = system.clock.elapsed() + graceMs;
    }
    return found.map((info) => {
      const { records, paused, owner } = info;
      const facts = JSON.stringify([records, paused, owner, this.find(info, info)]);
      return { ...info, facts };
    });
  }
}

/** Lists the threads that run, are paused or are claimed, oldest first. */
async function activeIn(store: ThreadStore): Promise<ThreadInfo[]> {
  const { index } = store;
  const all = (await index?.active()) ?? (await store.list({ limit: Number.MAX_SAFE_INTEGER }));
  return all
    .filter(({ state, owner }) => state.kind === "running" || owner !== null)
    .filter(({ state, movedTo }) => state.kind !== "ended" && movedTo === null)
    .sort((a, b) => (a.threadId < b.threadId ? -1 : 1));
}

/** Returns the process id at the end of an owner's name; 0 without a process id. */
const pidOf = (owner: string): number => Number(/(\d+)$/.exec(owner)?.[1] ?? 0);
