import assert from "node:assert/strict";
import { blobIdOf } from "../record/blob-names.ts";
import type { ThreadRef } from "../record/thread.ts";
import type { Claim, ThreadState, ThreadStore } from "./store.ts";
import {
  event,
  leaseMs,
  readAll,
  recordsIn,
  running,
  type Trial,
  type Written,
} from "./store-trial.ts";

/** One call of a session on a thread. */
export type Act =
  | { do: "create" }
  | { do: "claim" }
  | ({ do: "append" } & Written)
  | { do: "journal"; record: string }
  | { do: "event"; seq: number }
  | { do: "value"; json: string }
  | { do: "blob"; bytes: Uint8Array }
  | { do: "pause"; paused: boolean }
  | { do: "renew" }
  | { do: "release" };

/** Expected content of a thread after acknowledged calls. */
export class ThreadModel {
  readonly data: string[] = [];
  readonly journal: string[] = [];
  events: string[] = [];
  readonly values = new Map<number, string>();
  readonly blobs = new Map<string, Uint8Array>();
  state: ThreadState = running;
  paused = false;

  /**
   * Compares the model with a store. After a crash `some` events and values may be missing: the model drops them. While
   * a claim holds, their state is `unknown`.
   */
  async check(
    store: ThreadStore,
    ref: ThreadRef,
    explained: "all" | "some" | "unknown" = "all",
  ): Promise<void> {
    const info = await store.find(ref.threadId);
    assert.deepEqual(info && [info.hash, info.records], [ref.hash, this.data.length]);
    assert.deepEqual([info?.state, info?.paused], [this.state, this.paused]);
    assert.deepEqual(await recordsIn(store, ref, "data"), this.data);
    assert.deepEqual(await recordsIn(store, ref, "journal"), this.journal);
    assert.deepEqual(await store.listBlobs(ref), [...this.blobs.keys()].toSorted());
    for (const [id, bytes] of this.blobs) {
      assert.deepEqual(await store.readBlob(ref, id), bytes);
    }
    if (explained === "unknown") return;
    const events = await readAll(store, ref, "events");
    if (explained === "some") this.events = this.events.filter((line) => events.includes(line));
    assert.deepEqual(events, this.events, "events are neither changed, duplicated nor reordered");
    for (const [at, json] of this.values) {
      const found = await store.readValue(ref, at);
      if (explained === "some" && found === null) this.values.delete(at);
      else assert.equal(found, json);
    }
  }
}

/** A session on one thread: its holder and the model of acknowledged writes. */
export class Session {
  readonly ref: ThreadRef;
  readonly model = new ThreadModel();
  claim: Claim | null = null;
  readonly #trial: Trial;

  constructor(trial: Trial, ref: ThreadRef) {
    this.#trial = trial;
    this.ref = ref;
  }

  async do(act: Act, store: ThreadStore): Promise<void> {
    const note = await this.call(act, store);
    note();
  }

  /** Performs an act, and returns a function that records it in the model. */
  async call(act: Act, store: ThreadStore): Promise<() => void> {
    const { model, ref } = this;
    if (act.do === "create") {
      await store.create(this.#trial.thread(ref));
      return () => this.#note(act);
    }
    if (act.do === "pause") {
      await store.setPaused(ref, act.paused);
      return () => this.#note(act);
    }
    if (act.do === "claim") {
      const claim = this.claim ?? (await store.claim(ref, { owner: "a", leaseMs }));
      assert.ok(claim, "the thread is claimed");
      return () => {
        this.claim = claim;
      };
    }
    const { claim } = this;
    assert.ok(claim, `a claim to ${act.do} with`);
    if (act.do === "append") {
      const { paused } = await claim.append(act.record, act.state);
      assert.equal(paused, model.paused, "the pause mark");
    } else if (act.do === "journal") {
      await claim.journal(act.record);
    } else if (act.do === "event") {
      claim.event([event(act.seq)]);
    } else if (act.do === "blob") {
      await claim.putBlob(act.bytes);
    } else if (act.do === "renew") {
      assert.equal(await claim.renew(), true, "the lease is extended");
    } else if (act.do === "release") {
      await claim.release();
      return () => {
        this.claim = null;
      };
    } else {
      const at = claim.keepValue(act.json);
      return () => {
        assert.equal(at !== null && model.values.has(at), false, "a number names one value");
        if (at !== null) model.values.set(at, act.json);
      };
    }
    return () => this.#note(act);
  }

  /** Records an unacknowledged call if the store has applied it. Returns whether the store has. */
  async adopt(act: Act, store: ThreadStore): Promise<boolean> {
    const { model, ref } = this;
    const info = await store.find(ref.threadId);
    let isThere = false;
    if (act.do === "create") isThere = info !== null;
    else if (!info) return false;
    else if (act.do === "append") isThere = info.records > model.data.length;
    else if (act.do === "pause") isThere = info.paused === act.paused;
    else if (act.do === "blob")
      isThere = (await store.listBlobs(ref)).includes(blobIdOf(act.bytes));
    else if (act.do === "journal") {
      isThere = (await readAll(store, ref, "journal")).length > model.journal.length;
    } else if (act.do === "event") {
      isThere = (await readAll(store, ref, "events")).includes(event(act.seq));
    }
    if (isThere) this.#note(act);
    return isThere;
  }

  #note(act: Act): void {
    const { model } = this;
    if (act.do === "create") model.data.push(...this.#trial.thread(this.ref).records);
    if (act.do === "append") {
      model.data.push(act.record);
      model.state = act.state;
    }
    if (act.do === "journal") model.journal.push(act.record);
    if (act.do === "event") model.events.push(event(act.seq));
    if (act.do === "blob") model.blobs.set(blobIdOf(act.bytes), act.bytes);
    if (act.do === "pause" && model.state.kind !== "ended") model.paused = act.paused;
  }
}
