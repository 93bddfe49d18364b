import assert from "node:assert/strict";
import { isWorkflowError } from "../contract/error.ts";
import { blobIdOf } from "../record/blob-names.ts";
import { type Act, ThreadModel } from "./store-model.ts";
import type { ThreadRef } from "../record/thread.ts";
import type { Claim, NewThread, ThreadStore } from "./store.ts";
import { end, event, fenced, leaseMs, question, refused, step, type Trial } from "./store-trial.ts";

const holders = 3;
const threads = 3;
const actsPerSeed = 60;

/** A process with its store and its claims, current and past. */
type Holder = { store: ThreadStore; claims: Map<string, Claim> };

/** Model of a thread: records and holder. */
type Known = {
  model: ThreadModel;
  claim: Claim | null;
  /** The process of the claim has died. */
  isOrphan: boolean;
  /** A claim ended before its release: its last events may be missing. */
  wasCut: boolean;
};

export const propertyRules = {
  async "random sessions of three holders agree with a simple model"(trial: Trial) {
    const { seeds = 300 } = trial.under;
    for (let seed = 1; seed <= seeds; seed += 1) {
      try {
        await new RandomSession(trial, seed).run();
      } catch (error) {
        throw new Error(`seed ${seed}: ${error instanceof Error ? error.message : String(error)}`, {
          cause: error,
        });
      }
    }
  },
};

/** Makes random calls on a few threads in sequence, and compares each with a model. */
class RandomSession {
  readonly #trial: Trial;
  readonly #random: () => number;
  readonly #refs: ThreadRef[];
  readonly #known = new Map<string, Known>();
  readonly #holders: Holder[] = [];
  #seq = 0;

  constructor(trial: Trial, seed: number) {
    this.#trial = trial;
    this.#random = randomOf(seed);
    this.#refs = Array.from({ length: threads }, () => trial.ref());
  }

  async run(): Promise<void> {
    for (let n = 0; n < holders; n += 1) this.#holders.push(await this.#open());
    for (let n = 0; n < actsPerSeed; n += 1) await this.#act();
    const store = await this.#trial.open();
    await this.#checkAll(store);
    await store.close();
    for (const holder of this.#holders) await holder.store.close();
  }

  async #act(): Promise<void> {
    const holder = this.#pick(this.#holders);
    const ref = this.#pick(this.#refs);
    const known = this.#known.get(ref.threadId);
    const chance = this.#random();
    if (chance < 0.05) return this.#die(holder);
    if (chance < 0.08) return this.#remove(holder, ref);
    if (chance < 0.12) return this.#checkAll(holder.store);
    if (!known || chance < 0.16) return this.#create(holder, ref);
    if (chance < 0.24) return this.#pause(holder, ref, known);
    const claim = holder.claims.get(ref.threadId);
    if (!claim || chance < 0.34) return this.#claim(holder, ref, known);
    if (chance < 0.4) return this.#release(claim, known);
    return this.#write(claim, known);
  }

  async #open(): Promise<Holder> {
    return { store: await this.#trial.open(), claims: new Map() };
  }

  async #die(holder: Holder): Promise<void> {
    await this.#trial.under.die(holder.store);
    for (const known of this.#known.values()) {
      if (!known.claim || ![...holder.claims.values()].includes(known.claim)) continue;
      known.isOrphan = true;
      known.wasCut = true;
    }
    this.#holders[this.#holders.indexOf(holder)] = await this.#open();
  }

  async #create({ store }: Holder, ref: ThreadRef): Promise<void> {
    const known = this.#known.get(ref.threadId);
    const turn = '{"turn":0}';
    const thread: NewThread = { ...this.#trial.thread(ref), journal: [turn] };
    const found = await store.create(thread);
    assert.equal(found.created, !known, "only a missing thread is created");
    assert.equal(found.thread.records, known?.model.data.length ?? 1);
    if (known) return;
    const model = new ThreadModel();
    model.data.push(...thread.records);
    model.journal.push(turn);
    this.#known.set(ref.threadId, { model, claim: null, isOrphan: false, wasCut: false });
  }

  async #remove({ store }: Holder, ref: ThreadRef): Promise<void> {
    const known = this.#known.get(ref.threadId);
    try {
      assert.equal(
        await store.remove(ref),
        this.#known.delete(ref.threadId),
        "the removed thread existed",
      );
    } catch (error) {
      if (!isWorkflowError(error) || error.code !== "THREAD_CLAIMED") throw error;
      assert.ok(known?.claim, "a thread that is not held is removed");
    }
  }

  async #pause({ store }: Holder, ref: ThreadRef, { model }: Known): Promise<void> {
    const paused = this.#random() < 0.5;
    const info = await store.setPaused(ref, paused);
    if (model.state.kind !== "ended") model.paused = paused;
    assert.equal(info?.paused, model.paused);
  }

  async #claim({ store, claims }: Holder, ref: ThreadRef, known: Known): Promise<void> {
    const takeOver = this.#random() < 0.3;
    const before = known.claim;
    const claim = await store.claim(ref, { owner: "a", leaseMs, takeOver });
    // Stores may or may not fence a live holder, and may or may not keep a dead holder's claim until its lease expires.
    if (!before) assert.ok(claim, "a thread that is not held is claimed");
    else if (!takeOver && !known.isOrphan)
      assert.equal(claim, null, "a held thread is not claimed");
    if (!claim) return;
    if (before) assert.ok(claim.fence > before.fence, "the next fence is higher");
    const { model } = known;
    const found = [claim.thread.records, claim.thread.paused, claim.thread.state];
    assert.deepEqual(found, [model.data.length, model.paused, model.state]);
    known.claim = claim;
    known.isOrphan = false;
    known.wasCut ||= before !== null;
    claims.set(ref.threadId, claim);
  }

  async #release(claim: Claim, known: Known): Promise<void> {
    await claim.release();
    if (known.claim === claim) known.claim = null;
  }

  async #write(claim: Claim, known: Known): Promise<void> {
    const { model } = known;
    const holds = known.claim === claim;
    const act = this.#randomAct();
    if (act.do === "renew") {
      assert.equal(await claim.renew(), holds, "whether the claim holds");
    } else if (act.do === "event") {
      claim.event([event(act.seq)]);
      if (holds) model.events.push(event(act.seq));
    } else if (act.do === "value") {
      const at = claim.keepValue(act.json);
      // A fenced holder may not have noticed the fencing yet. Its writes are lost.
      if (!holds) assert.ok(at === null || !claim.lost.aborted);
      else if (at !== null) model.values.set(at, act.json);
    } else if (act.do === "blob") {
      if (!holds) return fenced(() => claim.putBlob(act.bytes));
      await claim.putBlob(act.bytes);
      model.blobs.set(blobIdOf(act.bytes), act.bytes);
    } else if (act.do === "append" || act.do === "journal") {
      const write = async (): Promise<void> => {
        if (act.do === "journal") return claim.journal(act.record);
        const { paused } = await claim.append(act.record, act.state);
        assert.equal(paused, model.paused);
      };
      const hasEnded = model.state.kind === "ended";
      // A fenced holder may not have noticed the fencing, and know only that the thread has ended.
      if (!holds) return fenced(write, hasEnded ? "THREAD_ENDED" : undefined);
      if (hasEnded) return refused(write, "THREAD_ENDED");
      await write();
      model[act.do === "append" ? "data" : "journal"].push(act.record);
      if (act.do === "append") model.state = act.state;
    }
  }

  #randomAct(): Act {
    const n = (this.#seq += 1);
    const chance = this.#random();
    if (chance < 0.3) return { do: "append", ...step(`step ${n}`) };
    if (chance < 0.4) return { do: "append", ...question(this.#random() < 0.5 ? null : n) };
    if (chance < 0.44) return { do: "append", ...end() };
    if (chance < 0.6) return { do: "journal", record: `{"turn":${n}}` };
    if (chance < 0.75) return { do: "event", seq: n };
    if (chance < 0.85) return { do: "value", json: `"value ${n}"` };
    if (chance < 0.95) return { do: "blob", bytes: new Uint8Array([n % 4]) };
    return { do: "renew" };
  }

  async #checkAll(store: ThreadStore): Promise<void> {
    for (const ref of this.#refs) {
      const listed = (await store.list({ hash: ref.hash })).map(({ threadId }) => threadId);
      assert.deepEqual(listed, this.#known.has(ref.threadId) ? [ref.threadId] : []);
      const known = this.#known.get(ref.threadId);
      if (!known) assert.equal(await store.find(ref.threadId), null);
      else if (known.claim && !known.isOrphan) await known.model.check(store, ref, "unknown");
      else await known.model.check(store, ref, known.wasCut ? "some" : "all");
    }
    const runnable = await store.runnable({
      now: 1e15,
      limit: 9,
      hashes: this.#refs.map(({ hash }) => hash),
    });
    const free = ({ model, claim }: Known): boolean => claim === null && !model.paused;
    const isDue = ({ model: { state } }: Known): boolean =>
      state.kind === "running" || (state.kind === "waiting" && state.dueAt !== null);
    const due = [...this.#known].filter(([, known]) => free(known) && isDue(known));
    const held = [...this.#known].filter(([, { isOrphan }]) => isOrphan).map(([id]) => id);
    assert.deepEqual(
      runnable
        .map(({ threadId }) => threadId)
        .filter((id) => !held.includes(id))
        .toSorted(),
      due.map(([id]) => id).toSorted(),
    );
  }

  #pick<T>(all: readonly T[]): T {
    return all[Math.floor(this.#random() * all.length)] as T;
  }
}

/** Returns a generator of seeded random numbers in [0, 1) (Mulberry32). */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}
