import assert from "node:assert/strict";
import type { ThreadRef } from "../record/thread.ts";
import type { StoreChange, ThreadInfo, ThreadStore } from "./store.ts";
import { system } from "../system/system.ts";
import { end, event, otherHash, question, refused, step, type Trial } from "./store-trial.ts";

const idsOf = (rows: readonly ThreadInfo[]): string[] => rows.map(({ threadId }) => threadId);

/** Rules of runnable threads and of changes. */
export const watchRules = {
  async "runnable threads are listed, longest due first"(trial: Trial) {
    const { store } = trial;
    const make = async (written: { record: string; state: object } | null, of?: string) => {
      const ref = trial.ref(of);
      await trial.create({}, ref);
      if (!written) return ref;
      const claim = await trial.claim(ref);
      await claim.append(written.record, written.state as ThreadInfo["state"]);
      await claim.release();
      return ref;
    };
    const late = await make(question(2_000));
    const early = await make(question(1_000), otherHash);
    const later = await make(question(9_000));
    await make(question(null));
    await make(end());
    const paused = await make(null);
    await store.setPaused(paused, true);
    const held = await make(question(1_500));
    const claim = await trial.claim(held, await trial.open());
    const runs = await make(null);
    const due = async (now: number, more: object = {}): Promise<string[]> =>
      idsOf(await store.runnable({ now, limit: 9, ...more }));
    const [a, b, c, d] = [early, late, later, runs].map(({ threadId }) => threadId);
    assert.deepEqual(new Set(await due(5_000)), new Set([a, b, d]));
    assert.deepEqual(await due(5_000, { onlyDue: true }), [a, b]);
    assert.deepEqual(await due(1_999, { onlyDue: true }), [a]);
    assert.deepEqual(await due(2_000, { onlyDue: true }), [a, b]);
    assert.deepEqual(await due(9_000, { onlyDue: true }), [a, b, c]);
    assert.deepEqual(await due(9_000, { onlyDue: true, limit: 2 }), [a, b]);
    assert.deepEqual(await due(9_000, { hashes: [otherHash] }), [a]);
    assert.deepEqual(await due(9_000, { hashes: [] }), []);
    assert.deepEqual(
      await due(system.clock.now() + 1e9),
      [a, b, c, d],
      "a running thread is due since its last record",
    );
    await claim.release();
    await store.setPaused(paused, false);
    const all = await due(5_000, { onlyDue: true });
    assert.deepEqual(all, [a, held.threadId, b]);
    assert.ok((await due(5_000)).includes(paused.threadId));
  },

  async "a postponed thread is skipped until its time or its next record"(trial: Trial) {
    const { store } = trial;
    const ref = trial.ref();
    await trial.create({}, ref);
    const other = await trial.open();
    const runs = async (now: number): Promise<boolean> =>
      (await other.runnable({ now, limit: 9 })).length > 0;
    const now = system.clock.now();
    await store.postpone(ref, now + 50_000);
    assert.deepEqual(
      [await runs(now), await runs(now + 49_999), await runs(now + 50_000)],
      [false, false, true],
    );
    const claim = await trial.claim(ref);
    await claim.append(step("one").record, step("one").state);
    await claim.release();
    assert.equal(await runs(now), true);
  },

  async "a watch reports changes made through any store"(trial: Trial) {
    const { store } = trial;
    const watched = new Watched(await trial.open());
    await watched.next(({ kind }) => kind === "ready");
    /** Waits until earlier changes were reported, by waiting for a later change of another thread. */
    const settle = async (): Promise<void> => {
      const marker = trial.ref();
      await trial.create({}, marker);
      await watched.next((change) => "ref" in change && change.ref.threadId === marker.threadId);
    };
    // Each change uses its own thread, because changes of one thread may be merged.
    const acts: ((ref: ThreadRef) => Promise<unknown>)[] = [
      async (ref) => {
        const claim = await trial.claim(ref);
        await settle();
        await claim.append(step("one").record, step("one").state);
      },
      async (ref) => {
        const claim = await trial.claim(ref);
        await settle();
        claim.event([event(1)]);
      },
      (ref) => store.setPaused(ref, true),
    ];
    for (const act of acts) {
      const ref = trial.ref();
      const isOf = (change: StoreChange): boolean =>
        change.kind === "thread" && change.ref.threadId === ref.threadId;
      await trial.create({}, ref);
      const created = await watched.next(isOf);
      assert.deepEqual(created, { kind: "thread", ref });
      await settle();
      await act(ref);
      await watched.next(isOf);
      await store.remove(ref);
      const removed = (change: StoreChange): boolean => change.kind === "removed";
      assert.deepEqual(await watched.next(removed), { kind: "removed", ref });
    }
    const { version } = await store.readRegistry();
    await store.replaceRegistry("a: 1\n", version);
    await watched.next(({ kind }) => kind === "registry");
    await watched.stop();
  },

  async "a watch of one thread reports no other thread"(trial: Trial) {
    const [ref, other] = [trial.ref(), trial.ref()];
    await trial.create({}, ref);
    const watched = new Watched(await trial.open(), ref);
    await watched.next(({ kind }) => kind === "ready");
    await trial.create({}, other);
    const { version } = await trial.store.readRegistry();
    await trial.store.replaceRegistry("a: 1\n", version);
    await trial.store.remove(other);
    await trial.store.remove(ref);
    await watched.next(({ kind }) => kind === "removed");
    for (const change of watched.seen) {
      if (change.kind !== "ready") assert.deepEqual("ref" in change && change.ref, ref);
    }
    await watched.stop();
  },

  async "a reader that reads at each change reads everything"(trial: Trial) {
    const ref = trial.ref();
    await trial.create({}, ref);
    const reader = await trial.open();
    const stop = new AbortController();
    const lines: string[] = [];
    const writer = await trial.claim(ref);
    const write = async (): Promise<void> => {
      for (let n = 1; n <= 100; n += 1) {
        await writer.append(step(`${n}`).record, step(`${n}`).state);
        if (n % 7 === 0) await system.clock.turn();
      }
      await writer.append(end().record, end().state);
    };
    let writing: Promise<void> | null = null;
    let cursor: string | undefined;
    for await (const _ of reader.watch(stop.signal, ref)) {
      writing ??= write();
      const page = await reader.read(ref, "data", cursor);
      lines.push(...page.lines);
      ({ cursor } = page);
      if (page.lines.at(-1)?.includes("__end__")) stop.abort();
    }
    await writing;
    await writer.release();
    assert.equal(lines.length, 102);
  },

  async "a watch ends when it is aborted, and when its store is closed"(trial: Trial) {
    for (const how of ["abort", "close", "before"]) {
      const store = await trial.open();
      const stop = new AbortController();
      if (how === "before") stop.abort();
      const changes = store.watch(stop.signal);
      if (how !== "before") assert.deepEqual((await changes.next()).value, { kind: "ready" });
      const next = changes.next();
      if (how === "close") await store.close();
      else stop.abort();
      assert.equal((await next).done, true);
      if (how === "close") await refused(() => store.list(), "STORE_CLOSED");
    }
  },
};

/** A watch that is read continuously. */
class Watched {
  readonly seen: StoreChange[] = [];
  readonly #stop = new AbortController();
  readonly #reading: Promise<void>;
  #wake: () => void = () => undefined;
  #used = 0;

  constructor(store: ThreadStore, ref?: ThreadRef) {
    this.#reading = this.#read(store, ref);
  }

  async #read(store: ThreadStore, ref?: ThreadRef): Promise<void> {
    for await (const change of store.watch(this.#stop.signal, ref)) {
      this.seen.push(change);
      this.#wake();
    }
  }

  /** Returns the next matching change. Skips all changes before it. */
  async next(is: (change: StoreChange) => boolean): Promise<StoreChange> {
    for (;;) {
      for (; this.#used < this.seen.length; this.#used += 1) {
        const change = this.seen[this.#used];
        if (!change || !is(change)) continue;
        this.#used += 1;
        return change;
      }
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
        if (this.#used < this.seen.length) resolve();
      });
    }
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#reading;
  }
}
