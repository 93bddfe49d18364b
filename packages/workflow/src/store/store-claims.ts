import assert from "node:assert/strict";
import { blobIdOf } from "../record/blob-names.ts";
import type { Claim } from "./store.ts";
import {
  end,
  event,
  isOver,
  leaseMs,
  question,
  readAll,
  recordOf,
  recordsIn,
  refused,
  step,
  type Trial,
} from "./store-trial.ts";

const shortMs = 2_000;

/** Rules of claims and their writes. */
export const claimRules = {
  async "one of twenty concurrent claims holds the thread"(trial: Trial) {
    const ref = trial.ref();
    await trial.create({}, ref);
    const stores = [trial.store, await trial.open(), await trial.open(), await trial.open()];
    for (let round = 0; round < 3; round += 1) {
      const claims = await Promise.all(
        Array.from({ length: 20 }, (_, n) =>
          (stores[n % stores.length] ?? trial.store).claim(ref, { owner: `w${n}`, leaseMs }),
        ),
      );
      const [held, ...others] = claims.filter((claim) => claim !== null);
      assert.ok(held);
      assert.equal(others.length, 0, "one claim");
      const owner = `w${claims.indexOf(held)}`;
      assert.equal((await trial.store.find(ref.threadId))?.owner, owner);
      await held.append(step(owner).record, step(owner).state);
      await held.release();
      assert.equal((await trial.store.find(ref.threadId))?.owner, null);
    }
    assert.equal((await recordsIn(trial.store, ref, "data")).length, 4);
  },

  async "each claim has a higher fence, and the thread's current state"(trial: Trial) {
    const { store } = trial;
    const ref = trial.ref();
    await trial.create({}, ref);
    let fence = -1;
    for (let n = 1; n <= 5; n += 1) {
      const claim = await trial.claim(ref, n % 2 === 0 ? store : await trial.open());
      assert.ok(claim.fence > fence);
      fence = claim.fence;
      assert.deepEqual([claim.ref, claim.cut, claim.lost.aborted], [ref, null, false]);
      const { records, owner } = claim.thread;
      assert.deepEqual([records, owner, claim.lastSeq], [n, "a", (n - 1) * 2]);
      claim.event([event(n * 2 - 1), event(n * 2)]);
      await claim.append(step(`${n}`).record, step(`${n}`).state);
      await claim.release();
    }
  },

  async "a claim has the thread's records, without their checksums"(trial: Trial) {
    const { store } = trial;
    const ref = trial.ref();
    const steps = [step("one", { sum: "mine" }), step("two"), question(7)];
    const thread = trial.thread(ref);
    thread.records = [...thread.records, ...steps.map(({ record }) => record)];
    thread.state = question(7).state;
    const { claim, thread: info } = await store.create(thread, { owner: "a", leaseMs });
    assert.ok(claim);
    assert.deepEqual([claim.thread, info.owner, claim.end], [info, "a", null]);
    const found = [claim.start, ...claim.steps].map((record) => JSON.stringify(record));
    assert.deepEqual(found, thread.records);
    assert.equal(
      await store.claim(ref, { owner: "b", leaseMs }),
      null,
      "a held thread can't be claimed",
    );
    await claim.append(end().record, end().state);
    assert.equal(claim.steps.length, 3, "the steps at the time of the claim");
    await claim.release();
    const last = await trial.claim(ref, await trial.open());
    assert.deepEqual([last.steps, JSON.stringify(last.end)], [claim.steps, end().record]);
  },

  async "a holder claims its thread only once"(trial: Trial) {
    const { store } = trial;
    const ref = trial.ref();
    await trial.create({}, ref);
    const claim = await trial.claim(ref);
    assert.equal(await store.claim(ref, { owner: "a", leaseMs }), null, "not by the same owner");
    const other = await trial.open();
    assert.equal(await other.claim(ref, { owner: "b", leaseMs }), null, "not by another store");
    assert.equal(await claim.renew(), true);
    assert.equal(claim.lost.aborted, false);
  },

  async "a fenced claim can't write"(trial: Trial) {
    const { store } = trial;
    const ref = trial.ref();
    await trial.create({}, ref);
    const other = await trial.open();
    const late = await trial.claim(ref, other);
    await late.append(step("one").record, step("one").state);
    const claim = await store.claim(ref, { owner: "b", leaseMs, takeOver: true });
    if (!claim) {
      // This store can't fence a live holder.
      assert.equal(late.lost.aborted, false);
      await late.append(step("two").record, step("two").state);
      return;
    }
    assert.ok(claim.fence > late.fence);
    assert.equal(claim.thread.records, 2);
    await isOver(late);
    assert.equal(late.lost.aborted, true, "a holder learns that its claim is lost");
    await late.release();
    assert.equal(
      (await other.find(ref.threadId))?.owner,
      "b",
      "the release of an ended claim does nothing",
    );
    await claim.append(step("two").record, step("two").state);
    await isOver(late);
    await claim.release();
    const contents = (await recordsIn(store, ref, "data")).slice(1);
    assert.deepEqual(contents, [step("one").record, step("two").record]);
    assert.deepEqual(await recordsIn(store, ref, "journal"), []);
    assert.deepEqual(await readAll(store, ref, "events"), []);
    assert.deepEqual(await store.listBlobs(ref), []);
  },

  async "a claim ends when its lease expires"(trial: Trial) {
    const { store, under } = trial;
    if (!under.expire) return;
    const ref = trial.ref();
    await trial.create({}, ref);
    const other = await trial.open();
    const options = { owner: "a", leaseMs: shortMs };
    const lost = await other.claim(ref, options);
    assert.ok(lost);
    assert.equal(await lost.renew(), true);
    await under.expire(shortMs);
    assert.equal((await store.find(ref.threadId))?.owner, null);
    assert.deepEqual(
      (await store.runnable({ now: 1, limit: 9 })).map(({ threadId }) => threadId),
      [ref.threadId],
    );
    await isOver(lost);
    assert.equal(lost.lost.aborted, true);
    const claim = await store.claim(ref, options);
    assert.ok(claim, "another holder claims it");
    await isOver(lost);
    await claim.append(step("one").record, step("one").state);
    assert.equal((await recordsIn(other, ref, "data")).length, 2);
  },

  async "a released claim can't write, and does not count as lost"(trial: Trial) {
    const { store } = trial;
    const ref = trial.ref();
    await trial.create({}, ref);
    const claim = await trial.claim(ref);
    await claim.release();
    await claim.release();
    await isOver(claim);
    assert.equal(claim.lost.aborted, false);
    const next = await trial.claim(ref);
    await claim.release();
    await isOver(claim);
    assert.equal(await next.renew(), true, "a second release does nothing");
    assert.equal((await store.find(ref.threadId))?.records, 1);
  },

  async "a closed store holds no claims"(trial: Trial) {
    const ref = trial.ref();
    await trial.create({}, ref);
    const other = await trial.open();
    const claim = await trial.claim(ref, other);
    await claim.append(step("one").record, step("one").state);
    await other.close();
    await other.close();
    await isOver(claim);
    await claim.release();
    const next = await trial.claim(ref);
    assert.equal(next.thread.records, 2);
  },

  async "writes are applied in the order of the calls"(trial: Trial) {
    const { store } = trial;
    const ref = trial.ref();
    await trial.create({}, ref);
    const claim = await trial.claim(ref);
    const writes: Promise<unknown>[] = [];
    const numbers = Array.from({ length: 50 }, (_, n) => n + 1);
    for (const n of numbers) {
      claim.event([event(n)]);
      writes.push(claim.append(step(`${n}`).record, step(`${n}`).state));
      writes.push(claim.journal(`{"turn":${n}}`));
    }
    await Promise.all(writes);
    const records = numbers.map((n) => step(`${n}`).record);
    assert.deepEqual((await recordsIn(store, ref, "data")).slice(1), records);
    const turns = numbers.map((n) => `{"turn":${n}}`);
    assert.deepEqual(await recordsIn(store, ref, "journal"), turns);
    assert.deepEqual(await readAll(store, ref, "events"), numbers.map(event));
  },

  async "a record is readable when its append resolves, and its events before it"(trial: Trial) {
    const ref = trial.ref();
    await trial.create({}, ref);
    const claim = await trial.claim(ref);
    const other = await trial.open();
    for (let n = 1; n <= 10; n += 1) {
      claim.event([event(n)]);
      const { record, state } = n % 2 === 0 ? step(`${n}`) : question(n);
      await claim.append(record, state);
      const info = await other.find(ref.threadId);
      assert.deepEqual([info?.records, info?.state], [n + 1, state]);
      assert.equal((await recordsIn(other, ref, "data")).at(-1), record);
      assert.equal((await readAll(other, ref, "events")).length, n);
      await claim.journal(`{"turn":${n}}`);
      assert.equal((await recordsIn(other, ref, "journal")).length, n);
    }
    claim.event([event(11)]);
    await claim.release();
    assert.equal(
      (await readAll(other, ref, "events")).length,
      11,
      "all events are readable after a release",
    );
  },

  async "only records change a thread's update time"(trial: Trial) {
    const { store } = trial;
    const ref = trial.ref();
    const { updatedAt } = await trial.create({}, ref);
    const claim = await trial.claim(ref);
    await claim.journal('{"turn":1}');
    claim.event([event(1)]);
    await claim.putBlob(new Uint8Array([1]));
    await store.setPaused(ref, true);
    await store.setPaused(ref, false);
    assert.equal((await store.find(ref.threadId))?.updatedAt, updatedAt);
    await claim.append(step("one").record, step("one").state);
    assert.ok(Number.isFinite((await store.find(ref.threadId))?.updatedAt));
  },

  async "a record that is too large is refused as a whole, and the claim holds"(trial: Trial) {
    const { store } = trial;
    const { maxRecordBytes } = store;
    const ref = trial.ref();
    await trial.create({}, ref);
    const claim = await trial.claim(ref);
    const { state } = step("");
    const large = recordOf(maxRecordBytes + 1);
    await refused(() => claim.append(large, state), "RECORD_TOO_LARGE");
    await refused(() => claim.journal(large), "RECORD_TOO_LARGE");
    assert.equal((await store.find(ref.threadId))?.records, 1);
    const longest = recordOf(maxRecordBytes);
    await claim.append(longest, state);
    await claim.journal('{"turn":1}');
    await claim.append(step("one").record, state);
    const [, first, second] = await recordsIn(store, ref, "data");
    assert.ok(first === longest, "the longest record");
    assert.equal(second, step("one").record);
    assert.deepEqual(await recordsIn(store, ref, "journal"), ['{"turn":1}']);
  },

  async "only events follow the record that ends a thread"(trial: Trial) {
    const { store } = trial;
    const ref = trial.ref();
    await trial.create({}, ref);
    const claim = await trial.claim(ref);
    await claim.append(end().record, end().state);
    const isEnded = async (holder: Claim): Promise<void> => {
      const { record, state } = step("late");
      await refused(() => holder.append(record, state), "THREAD_ENDED");
      await refused(() => holder.append(end().record, end().state), "THREAD_ENDED");
      await refused(() => holder.journal('{"turn":1}'), "THREAD_ENDED");
      assert.equal(await holder.renew(), true, "the claim holds");
      holder.event([event(1)]);
      await holder.release();
    };
    await isEnded(claim);
    const paused = await store.setPaused(ref, true);
    assert.deepEqual([paused?.paused, paused?.state], [false, end().state]);
    await isEnded(await trial.claim(ref, await trial.open()));
    assert.equal((await recordsIn(store, ref, "data")).length, 2);
    assert.deepEqual(await recordsIn(store, ref, "journal"), []);
    assert.deepEqual(await readAll(store, ref, "events"), [event(1), event(1)]);
  },

  async "the next append reports a pause, which stays until it is changed"(trial: Trial) {
    const ref = trial.ref();
    await trial.create({}, ref);
    const other = await trial.open();
    const claim = await trial.claim(ref);
    const { record, state } = step("one");
    assert.deepEqual(await claim.append(record, state), { paused: false });
    for (const paused of [true, true, false, true]) {
      assert.equal((await other.setPaused(ref, paused))?.paused, paused);
      assert.deepEqual(await claim.append(record, state), { paused });
    }
    await claim.release();
    const next = await trial.claim(ref, other);
    assert.equal(next.thread.paused, true);
    await next.append(end().record, end().state);
    assert.equal((await other.setPaused(ref, false))?.paused, true, "an ended thread is unchanged");
  },

  async "a value is read by its number, in any store"(trial: Trial) {
    const ref = trial.ref();
    await trial.create({}, ref);
    const kept = new Map<number, string>();
    for (let n = 0; n < 6; n += 1) {
      const claim = await trial.claim(ref, await trial.open());
      const json = JSON.stringify("\u2028\u20ac".repeat(n * 1000));
      const at = claim.keepValue(json);
      assert.ok(at !== null && !kept.has(at), "a unique number");
      claim.event([JSON.stringify({ tag: "CONTRACT", content: "", timestamp: 1, seq: n, at })]);
      await claim.append(step("").record, step("").state);
      assert.equal(
        await trial.store.readValue(ref, at),
        json,
        "the value is readable before its event",
      );
      kept.set(at, json);
      await claim.release();
    }
    for (const [at, json] of kept) assert.equal(await trial.store.readValue(ref, at), json);
    for (const at of [-1, 0.5, Number.NaN, 1e15]) {
      assert.equal(await trial.store.readValue(ref, at), null);
    }
  },

  async "a blob is stored once under its id"(trial: Trial) {
    const { store } = trial;
    const ref = trial.ref();
    await trial.create({}, ref);
    const claim = await trial.claim(ref);
    const bytes = new Uint8Array(300_000).map((_, n) => n % 256);
    const ids = [blobIdOf(bytes), blobIdOf(new Uint8Array())] as const;
    const given = bytes.slice();
    assert.equal(await claim.putBlob(given), ids[0]);
    given.fill(0);
    const kept = await store.readBlob(ref, ids[0]);
    assert.ok(Buffer.from(kept ?? []).equals(bytes), "the store has its own copy");
    assert.equal(await claim.putBlob(new Uint8Array()), ids[1]);
    assert.equal(await claim.putBlob(bytes), ids[0]);
    const other = await trial.open();
    assert.deepEqual(await other.listBlobs(ref), [...ids].sort());
    assert.ok(Buffer.from((await other.readBlob(ref, ids[0])) ?? []).equals(bytes));
    assert.deepEqual(await store.readBlob(ref, ids[1]), new Uint8Array());
    assert.equal(await store.readBlob(ref, "c".repeat(32)), null);
  },

  async "any text is stored unchanged"(trial: Trial) {
    const { store } = trial;
    const ref = trial.ref();
    const long = "x".repeat(Math.min(10 * 1024 * 1024, store.maxRecordBytes - 1000));
    const texts = [
      ...[
        "",
        "\u0000",
        "\u2028 and \u2029",
        "\ufeff",
        "\ud83d\ude00 e\u0301",
        '\\" \t\r\n',
        "\ud800",
      ],
      ...['","sum":"0123456789abcdef"}', "</script>", long],
    ];
    const written = texts.map((text) => step(text, { [text.slice(0, 9)]: text.slice(0, 99) }));
    const proto = step("proto").record.replace('"meta":{}', '"meta":{"__proto__":{"x":1},"1":2}');
    const records = [...written.map(({ record }) => record), proto];
    await trial.create({ journal: records }, ref);
    const claim = await trial.claim(ref);
    for (const record of records) {
      if (record.length < 10_000) claim.event([record]);
      await claim.append(record, step("").state);
    }
    const last = await trial.open();
    const isSame = (found: string[], wanted: string[]): boolean =>
      found.length === wanted.length && found.every((text, n) => text === wanted[n]);
    assert.ok(isSame((await recordsIn(last, ref, "data")).slice(1), records), "the records");
    assert.ok(isSame(await recordsIn(last, ref, "journal"), records), "the journal");
    const short = records.filter(({ length }) => length < 10_000);
    assert.ok(isSame(await readAll(last, ref, "events"), short), "the events");
  },
};
