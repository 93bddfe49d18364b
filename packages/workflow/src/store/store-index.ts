import assert from "node:assert/strict";
import { system } from "../system/system.ts";
import type { ThreadRef } from "../record/thread.ts";
import type { Claim, ThreadState } from "./store.ts";
import { end, leaseMs, otherHash, question, startRecord, step, type Trial } from "./store-trial.ts";

const idsOf = (rows: readonly { threadId: string }[]): string[] =>
  rows.map(({ threadId }) => threadId);

/** Rules of a store's index, and of other optional parts. A store without the part passes the rule. */
export const indexRules = {
  async "an index finds threads by the start and the end of their ids"(trial: Trial) {
    const { index } = trial.store;
    if (!index) return;
    assert.deepEqual([await index.count(), await index.hashes()], [0, []]);
    const refs = Array.from({ length: 12 }, (_, n) => trial.ref(n === 0 ? otherHash : "H1"));
    for (const ref of refs) await trial.create({}, ref);
    const ids = refs.map(({ threadId }) => threadId).toReversed();
    assert.deepEqual(
      [await index.count(), (await index.hashes()).toSorted()],
      [12, [otherHash, "H1"].toSorted()],
    );
    const [last = ""] = ids;
    assert.deepEqual(idsOf(await index.matching(last.slice(-3), 9)), [last]);
    assert.deepEqual(idsOf(await index.matching(last.slice(0, 20), 9)), ids.slice(0, 9));
    assert.deepEqual(await index.matching(last.slice(-3), 9), [await trial.store.find(last)]);
    for (const text of ["%", "_", "\\", "X'", last.toLowerCase(), last.slice(3, 9)]) {
      assert.deepEqual(await index.matching(text, 9), [], text);
    }
  },

  async "an index returns the family of a thread, even through a removed ancestor"(trial: Trial) {
    const { store } = trial;
    const { index } = store;
    if (!index) return;
    const [first, child, other] = [trial.ref(), trial.ref(), trial.ref()];
    const [grandchild, stranger] = [trial.ref(), trial.ref()];
    const fork = async (ref: ThreadRef, of: ThreadRef) => {
      const start = JSON.parse(startRecord(ref, 1)) as object;
      const forkFrom = { threadId: of.threadId, hash: of.hash, steps: 0 };
      await trial.create({ records: [JSON.stringify({ ...start, forkFrom })] }, ref);
    };
    await trial.create({}, first);
    await fork(child, first);
    await fork(other, first);
    await fork(grandchild, child);
    await trial.create({}, stranger);
    const family = async ({ threadId }: ThreadRef) =>
      idsOf(await index.relatives(threadId)).toSorted();
    const all = idsOf([first, child, other, grandchild]).toSorted();
    for (const one of [first, child, other, grandchild]) assert.deepEqual(await family(one), all);
    assert.deepEqual(await family(stranger), [stranger.threadId]);
    await store.remove(first);
    assert.deepEqual(await family(grandchild), all.slice(1));
    assert.deepEqual(await family(other), all.slice(1));
  },

  async "an index lists the threads that run or are claimed"(trial: Trial) {
    const { store } = trial;
    const { index } = store;
    if (!index) return;
    const made = async (written: { record: string; state: object } | null) => {
      const ref = trial.ref();
      await trial.create({}, ref);
      const claim = written && (await trial.claim(ref));
      await claim?.append(written?.record ?? "", written?.state as ThreadState);
      await claim?.release();
      return ref;
    };
    const runs = await made(null);
    const paused = await made(step("one"));
    await store.setPaused(paused, true);
    const waits = await made(question(null));
    const ended = await made(end());
    const active = async () => idsOf(await index.active()).toSorted();
    assert.deepEqual(await active(), idsOf([runs, paused]).toSorted());
    const claims = [await trial.claim(waits), await trial.claim(ended)];
    assert.deepEqual(await active(), idsOf([runs, paused, waits]).toSorted());
    for (const claim of claims) await claim.release();
  },

  async "an index keeps the last entry of a thread until it is removed"(trial: Trial) {
    const { store } = trial;
    const { index } = store;
    if (!index) return;
    const [ref, bare] = [trial.ref(), trial.ref()];
    await trial.create({}, ref);
    await trial.create({}, bare);
    const entry = { records: 1, json: '{"a":"caf\u00e9 \u2028"}' };
    await index.keep(ref, { records: 7, json: "{}" });
    await index.keep(ref, entry);
    const stranger = { ...bare, hash: otherHash };
    await index.keep(stranger, entry);
    await index.keep(trial.ref(), entry);
    const read = async (...refs: (typeof ref)[]) =>
      Object.fromEntries(await ((await trial.open()).index ?? index).entries(refs));
    assert.deepEqual(await read(ref, bare, stranger), { [ref.threadId]: entry });
    assert.deepEqual(await read(), {});
    await store.remove(ref);
    assert.deepEqual(await read(ref), {});
    await trial.create({}, ref);
    assert.deepEqual(await read(ref), {}, "a later thread of the same id has no entry");
  },

  async "claims that are renewed together each keep or lose their lease"(trial: Trial) {
    const { store } = trial;
    if (!store.renewAll) return;
    const claimed = async (): Promise<Claim> => {
      const ref = trial.ref();
      await trial.create({}, ref);
      return await trial.claim(ref);
    };
    const [held, released, fenced, removed] = [
      await claimed(),
      await claimed(),
      await claimed(),
      await claimed(),
    ] as const;
    assert.deepEqual(await store.renewAll([]), []);
    await released.release();
    const other = await trial.open();
    await other.claim(fenced.ref, { owner: "b", leaseMs, takeOver: true });
    await store.remove(removed.ref);
    const all = [fenced, held, released, removed];
    assert.deepEqual(await store.renewAll(all), [false, true, false, false]);
    assert.equal(fenced.lost.aborted, true);
    const { record, state } = step("still");
    await held.append(record, state);
  },

  async "a postponed thread has the time until which it is postponed"(trial: Trial) {
    const { store } = trial;
    const ref = trial.ref();
    await trial.create({}, ref);
    const until = system.clock.now() + 1_000_000;
    await store.postpone(ref, until);
    const { postponedUntil } = (await store.find(ref.threadId)) ?? {};
    assert.ok(postponedUntil === undefined || postponedUntil === until);
    await store.postpone(ref, 0);
    assert.equal((await store.find(ref.threadId))?.postponedUntil, undefined);
  },
};
