import type { HostChange, LogLine, LogOptions, Observed, ObserveOptions } from "../host/host.ts";
import { eventsIn, wantedOf } from "../local/threads/events.ts";
import { takeBatch } from "../local/threads/observe.ts";
import { shownOf } from "../record/row.ts";
import { cursorOf, LogReader, positionOf } from "../record/reader.ts";
import { isMoving, type LiveFacts, statusOf, type ThreadRef } from "../record/thread.ts";
import type { StoreChange, ThreadInfo, ThreadStore } from "../store/store.ts";
import { system } from "../system/system.ts";
import type { ActiveThread, Activity } from "./activity.ts";
import { Bell } from "./bell.ts";
import { isMissing, notedIn } from "./noted.ts";
import { StoredLines } from "./stored-lines.ts";
import type { StoredThreads } from "./stored-threads.ts";

/** Dependencies of the functions that follow threads. */
export type Following = {
  store: ThreadStore;
  threads: StoredThreads;
  activity: Activity;
  /** Rings at every change of a thread that this process drives or commands. */
  bell: Bell;
  closed: AbortSignal;
};

const mostOftenMs = 20;
/** Maximum number of threads whose last reported row is remembered. */
const mostShown = 10_000;
/** Time in milliseconds for which readers wait for an unreachable store. */
const outageMs = 60_000;
/** Time until a failed watch starts again, in milliseconds. */
const retryMs = 1_000;

/** Implements `Host.observe`. */
export async function* observe(
  following: Following,
  ref: ThreadRef,
  cursor: string | undefined,
  { signal, events = true, until }: ObserveOptions,
): AsyncGenerator<Observed> {
  const { store, activity } = following;
  const from = positionOf(cursor);
  const data = new StoredLines(store, ref, "data");
  const info = new StoredLines(store, ref, "events");
  // Read the data log first: an event is in the debug log before its step is in the data log.
  const refresh = async (): Promise<void> => {
    await data.refresh();
    if (events) await info.refresh();
  };
  const watched = await Watched.begin(following, signal, ref);
  const outage = new Outage(store);
  try {
    await refresh();
    const reader = new LogReader({ data, ...(events && { info }), from });
    const to = until === "now" ? reader.newest() : until === undefined ? null : positionOf(until);
    let shown = "";
    while (!watched.isOver) {
      const ring = watched.next();
      // Read the state first: if the thread ends in the meantime, its log has the end.
      let stored: ThreadInfo | null = null;
      let driver: LiveFacts | null = null;
      try {
        stored = await store.find(ref.threadId);
        driver = activity.find(ref, stored);
        await refresh();
        outage.end();
      } catch (error) {
        if (isMissing(error)) return yield { kind: "removed", cursor: cursorOf(reader.position) };
        outage.check(error);
        await watched.wait(ring);
        continue;
      }
      const batch = takeBatch(reader, to ?? undefined);
      for (const item of batch) yield item;
      if (batch.at(-1)?.kind === "end") return;
      if (batch.length > 0) continue;
      const { facts } = reader;
      if (facts.end || (to && !facts.broken)) return;
      const state = statusOf(facts, facts.broken ? null : driver, notedIn(stored));
      const text = JSON.stringify(state);
      if (text !== shown) yield { kind: "status", state, cursor: cursorOf(reader.position) };
      if (state.status === "corrupt" || state.status === "moved") return;
      shown = text;
      await watched.wait(ring);
    }
  } finally {
    await watched.end();
  }
}

/** Implements `Host.log`. */
export async function* logOf(
  following: Following,
  ref: ThreadRef,
  { backward, tail, follow = false, signal, ...options }: LogOptions,
): AsyncGenerator<LogLine> {
  const info = new StoredLines(following.store, ref, "events");
  const watched = follow ? await Watched.begin(following, signal, ref) : null;
  const outage = new Outage(following.store);
  try {
    await info.refresh();
    if (backward) return yield* eventsIn(info.backward());
    let { after = 0 } = options;
    const holding = options.only?.map((name) => `"${name}"`);
    const read = function* (): Generator<LogLine> {
      for (const line of wantedOf(info.forward(after, holding), options)) {
        after = line.position;
        yield line;
      }
    };
    yield* tail === undefined ? read() : [...read()].slice(tail === 0 ? Infinity : -tail);
    for (let goesOn = true; watched && goesOn && !watched.isOver; ) {
      const ring = watched.next();
      try {
        const row = await following.threads.row(ref);
        goesOn = row !== null && (isMoving(row.status) || row.status === "waiting");
        if (goesOn) await watched.wait(ring);
        if (row) await info.refresh();
        outage.end();
      } catch (error) {
        outage.check(error);
        goesOn = true;
        await watched.wait(ring);
      }
      yield* read();
    }
  } finally {
    await watched?.end();
  }
}

/** Implements `Host.changes`. */
export async function* changesOf(
  following: Following,
  signal: AbortSignal,
): AsyncGenerator<HostChange> {
  const { threads, activity } = following;
  const shownBefore = new Map<string, string>();
  const dirty = new Map<string, ThreadRef>();
  let active = new Map<string, ActiveThread>();
  let lookAt = 0;
  let isRegistryChanged = false;
  const watched = await Watched.begin(following, signal, undefined, (change) => {
    if (change.kind === "registry") isRegistryChanged = true;
    if ("ref" in change) dirty.set(change.ref.threadId, change.ref);
  });
  try {
    yield { kind: "ready" };
    while (!watched.isOver) {
      const ring = watched.next();
      const toRead = new Map(dirty);
      dirty.clear();
      if (system.clock.elapsed() >= lookAt) {
        const before = active;
        active = new Map((await activity.active()).map((one) => [one.threadId, one]));
        for (const [threadId, one] of [...before, ...active]) {
          if (active.get(threadId)?.facts !== before.get(threadId)?.facts) {
            toRead.set(threadId, { hash: one.hash, threadId });
          }
        }
        lookAt = system.clock.elapsed() + activity.lookEveryMs;
      }
      for (const [threadId, ref] of toRead) {
        const row = await threads.row(ref);
        const shown = row && shownOf(row);
        if (shown === shownBefore.get(threadId)) continue;
        if (shown === null) shownBefore.delete(threadId);
        else shownBefore.set(threadId, shown);
        const [oldest] = shownBefore.keys();
        if (shownBefore.size > mostShown && oldest !== undefined) shownBefore.delete(oldest);
        yield row ? { kind: "thread", row } : { kind: "removed", threadId };
      }
      if (isRegistryChanged) yield { kind: "workflows" };
      isRegistryChanged = false;
      if (!watched.isOver) await system.clock.sleep(mostOftenMs);
      await watched.wait(ring);
    }
  } finally {
    await watched.end();
  }
}

/** The time for which a reader has not reached its store. */
class Outage {
  readonly #store: ThreadStore;
  #since: number | null = null;

  constructor(store: ThreadStore) {
    this.#store = store;
  }

  /** Records that the store has answered. */
  end(): void {
    this.#since = null;
  }

  /** Throws an error unless the reader may wait for the store. */
  check(error: unknown): void {
    const now = system.clock.elapsed();
    this.#since ??= now;
    if (!this.#store.isPassing?.(error) || now - this.#since > outageMs) throw error;
  }
}

/** A watch of one thread or of all threads of a store. */
class Watched {
  readonly #following: Following;
  readonly #stop = new AbortController();
  readonly #bell = new Bell();
  readonly #ready = Promise.withResolvers<void>();
  readonly #leave: () => void;
  #ended: Promise<void> = Promise.resolve();

  private constructor(following: Following, signal: AbortSignal | undefined) {
    this.#following = following;
    const { signal: stopped } = this.#stop;
    for (const one of [signal, following.closed]) {
      if (one?.aborted) this.#stop.abort();
      one?.addEventListener("abort", () => this.#stop.abort(), { signal: stopped });
    }
    stopped.addEventListener("abort", () => this.#bell.ring());
    this.#leave = following.bell.join(this.#bell);
  }

  /** Starts a watch, which calls `onChange` for each change. Resolves once no later change can be missed. */
  static async begin(
    following: Following,
    signal: AbortSignal | undefined,
    ref?: ThreadRef,
    onChange: (change: StoreChange) => void = () => undefined,
  ): Promise<Watched> {
    const watched = new Watched(following, signal);
    watched.#ended = watched.#watch(ref, onChange);
    await watched.#ready.promise;
    return watched;
  }

  get isOver(): boolean {
    return this.#stop.signal.aborted;
  }

  /** Resolves at the next change, even one before the `await`. */
  next(): Promise<void> {
    return this.#bell.next();
  }

  /** Waits for a change, or until the next check: a store does not report expired leases. */
  async wait(change: Promise<void>): Promise<void> {
    await this.#bell.within(change, this.#following.activity.lookEveryMs);
  }

  async end(): Promise<void> {
    this.#stop.abort();
    this.#leave();
    await this.#ended;
  }

  async #watch(ref: ThreadRef | undefined, onChange: (change: StoreChange) => void) {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      try {
        for await (const change of this.#following.store.watch(signal, ref)) {
          onChange(change);
          this.#ready.resolve();
          this.#bell.ring();
        }
        break;
      } catch {
        // Readers poll while the store can't report changes.
        this.#ready.resolve();
        await this.#bell.within(this.#bell.next(), retryMs);
      }
    }
    this.#ready.resolve();
  }
}
