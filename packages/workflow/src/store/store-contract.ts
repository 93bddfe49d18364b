import assert from "node:assert/strict";
import { blobIdOf } from "../record/blob-names.ts";
import { claimRules } from "./store-claims.ts";
import { faultRules } from "./store-faults.ts";
import { indexRules } from "./store-index.ts";
import { propertyRules } from "./store-property.ts";
import type { LogName, StoredBundle } from "./store.ts";
import {
  hash,
  isOver,
  leaseMs,
  otherHash,
  readAll,
  recordOf,
  recordsIn,
  refused,
  running,
  startRecord,
  step,
  type StoreUnderTest,
  Trial,
} from "./store-trial.ts";
import { watchRules } from "./store-watch.ts";

/** A rule for every store. `check` throws when the store breaks it, and closes the stores that it opened. */
export type StoreRule = { name: string; check: (under: StoreUnderTest) => Promise<void> };

/**
 * Returns the rules for every {@link ThreadStore}. Each rule runs against a new medium.
 *
 * @example for (const { name, check } of storeContract()) test(name, async () => check(await make()));
 */
export function storeContract(): StoreRule[] {
  const all = {
    ...{ ...threadRules, ...claimRules, ...watchRules },
    ...{ ...indexRules, ...faultRules, ...propertyRules },
  };
  return Object.entries(all).map(([name, rule]) => ({
    name,
    check: async (under) => {
      try {
        await rule(await Trial.begin(under));
      } finally {
        await under.close();
      }
    },
  }));
}

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

// XXH64 of no bytes, of `a` and of `abc`: the names of bundles with this code.
const code = { empty: "EYHPV6X8XHTCS", a: "D4KP4Y6MRRVJV", abc: "49F1CYPPQE2CS" };

const threadRules = {
  async "a bundle is read as it was stored, from any store"(trial: Trial) {
    const { store } = trial;
    const other = await trial.open();
    const whole: StoredBundle = {
      ...{ hash: code.abc, code: bytesOf("abc"), descriptor: "description: \u2028 caf\u00e9\n" },
      ...{ types: "export {};\n", map: "{}" },
    };
    const given = { ...whole, code: whole.code.slice() };
    await store.putBundle(given);
    given.code.fill(0);
    assert.deepEqual(await other.readBundle(code.abc), whole);
    const read = await store.readBundle(code.abc);
    read?.code.fill(0);
    assert.deepEqual(
      await store.readBundle(code.abc),
      whole,
      "changes of returned bytes do not change the store",
    );
    await other.putBundle({ hash: code.a, code: bytesOf("a"), descriptor: "d\n" });
    assert.deepEqual(await store.listBundles(), [code.abc, code.a]);
    assert.equal(await store.readBundle(code.empty), null);
    await store.removeBundle(code.abc);
    await store.removeBundle(code.abc);
    assert.deepEqual(
      [await other.readBundle(code.abc), await other.listBundles()],
      [null, [code.a]],
    );
  },

  async "storing a bundle again adds missing files and replaces files that differ"({
    store,
  }: Trial) {
    const bare: StoredBundle = { hash: code.a, code: bytesOf("a"), descriptor: "d\n" };
    await store.putBundle(bare);
    await store.putBundle({ ...bare, map: "{}" });
    await store.putBundle({ ...bare, types: "export {};\n" });
    const other = { ...bare, descriptor: "e\n", map: "[]" };
    await store.putBundle(other);
    await store.putBundle({ ...bare, descriptor: "e\n" });
    assert.deepEqual(await store.readBundle(code.a), { ...other, types: "export {};\n" });
  },

  async "a thread needs no bundle, and stays when its bundle is removed"(trial: Trial) {
    const { store } = trial;
    const ref = trial.ref(code.a);
    const thread = await trial.create({}, ref);
    await store.putBundle({ hash: code.a, code: bytesOf("a"), descriptor: "d\n" });
    await store.removeBundle(code.a);
    assert.deepEqual(await store.find(ref.threadId), thread);
  },

  async "the registry is replaced only by a writer that has read its version"(trial: Trial) {
    const { store } = trial;
    const other = await trial.open();
    const first = await store.readRegistry();
    assert.equal(first.text, "");
    assert.equal(await other.replaceRegistry("workflows: {}\n", first.version), true);
    assert.equal(await store.replaceRegistry("late", first.version), false);
    const second = await store.readRegistry();
    assert.equal(second.text, "workflows: {}\n");
    assert.notEqual(second.version, first.version);
    assert.deepEqual(await other.readRegistry(), second);
    assert.equal(await store.replaceRegistry("a: 1\n", second.version), true);
    assert.equal(await store.replaceRegistry("b: 1\n", "nonsense"), false);
    assert.equal((await other.readRegistry()).text, "a: 1\n");
  },

  async "twenty concurrent writers of the registry lose no change"(trial: Trial) {
    const stores = [trial.store, await trial.open(), await trial.open(), await trial.open()];
    const write = async (n: number): Promise<void> => {
      const store = stores[n % stores.length] ?? trial.store;
      for (;;) {
        const { text, version } = await store.readRegistry();
        if (await store.replaceRegistry(`${text}w${n}: 1\n`, version)) return;
      }
    };
    await Promise.all(Array.from({ length: 20 }, (_, n) => write(n)));
    const { text, version } = await trial.store.readRegistry();
    const lines = text.split("\n").slice(0, -1);
    assert.deepEqual([lines.length, new Set(lines).size], [20, 20]);
    const taken = await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        (stores[n % stores.length] ?? trial.store).replaceRegistry(`last${n}: 1\n`, version),
      ),
    );
    assert.equal(taken.filter(Boolean).length, 1, "one of twenty writers with one version wins");
    const last = `last${taken.indexOf(true)}: 1\n`;
    assert.equal((await trial.store.readRegistry()).text, last);
  },

  async "a new thread has all of its initial content"(trial: Trial) {
    const { store } = trial;
    const ref = trial.ref();
    const records = [startRecord(ref, 7), step("one").record, step("two").record];
    const journal = ['{"turn":1}', '{"turn":2}'];
    const given = { records, journal, createdAt: 7 };
    const thread = await trial.create(given, ref);
    const { updatedAt, ...info } = thread;
    assert.deepEqual(info, {
      ...{ ...ref, name: "contract", createdAt: 7, records: 3 },
      ...{ state: running, paused: false, owner: null, movedTo: null },
    });
    assert.ok(Number.isFinite(updatedAt));
    const other = await trial.open();
    assert.deepEqual(await other.find(ref.threadId), thread);
    assert.deepEqual(await other.list(), [thread]);
    assert.deepEqual(await recordsIn(other, ref, "data"), records);
    assert.deepEqual(await recordsIn(other, ref, "journal"), journal);
    assert.deepEqual(await readAll(other, ref, "events"), []);
    assert.deepEqual([await other.listBlobs(ref), await store.listBlobs(ref)], [[], []]);
  },

  async "a thread starts with copies of another's blobs"(trial: Trial) {
    const { store } = trial;
    const [source, fork, orphan] = [trial.ref(), trial.ref(otherHash), trial.ref()];
    await trial.create({}, source);
    const claim = await trial.claim(source);
    const [a, b] = [await claim.putBlob(bytesOf("1")), await claim.putBlob(bytesOf("2"))];
    assert.ok(a !== null && b !== null);
    const c = blobIdOf(bytesOf("3"));
    await trial.create({ blobsFrom: { ref: source, ids: [b, c] } }, fork);
    assert.deepEqual(await store.listBlobs(fork), [b]);
    await claim.release();
    await store.remove(source);
    assert.deepEqual(await store.readBlob(fork, b), bytesOf("2"));
    await trial.create({ blobsFrom: { ref: source, ids: [a] } }, orphan);
    assert.deepEqual(await store.listBlobs(orphan), [], "blobs of a removed source are not copied");
  },

  async "an id is unique among the threads of all bundles"(trial: Trial) {
    const { store } = trial;
    const ref = trial.ref();
    const first = await trial.create({}, ref);
    const other = await trial.open();
    const again = { hash: otherHash, threadId: ref.threadId };
    for (const given of [trial.thread(ref, "again"), trial.thread(again)]) {
      const options = { owner: "a", leaseMs };
      const found = { created: false, thread: first, claim: null };
      assert.deepEqual(await other.create(given, options), found);
    }
    assert.deepEqual(await store.list(), [first]);
    assert.deepEqual(await recordsIn(store, ref, "data"), trial.thread(ref).records);
  },

  async "one of twenty concurrent creations with one id creates the thread"(trial: Trial) {
    const stores = [trial.store, await trial.open(), await trial.open(), await trial.open()];
    const threadId = trial.ref().threadId;
    const given = Array.from({ length: 20 }, (_, n) => {
      const ref = { hash: n % 2 === 0 ? hash : otherHash, threadId };
      return trial.thread(ref, `prompt ${n}`);
    });
    const made = await Promise.all(
      given.map((thread, n) =>
        (stores[n % stores.length] ?? trial.store).create(thread, { owner: `w${n}`, leaseMs }),
      ),
    );
    assert.equal(made.filter(({ created }) => created).length, 1);
    const winner = given[made.findIndex(({ created }) => created)];
    assert.ok(winner);
    for (const { thread } of made) {
      assert.deepEqual([thread.hash, thread.records], [winner.hash, 1]);
    }
    assert.deepEqual(await recordsIn(trial.store, winner, "data"), winner.records);
    const claims = made.flatMap(({ claim }) => claim ?? []);
    assert.deepEqual([claims.length, claims[0]?.thread.owner], [1, `w${given.indexOf(winner)}`]);
    assert.equal((await trial.store.list()).length, 1);
  },

  async "a thread with a too large record is not created"(trial: Trial) {
    const { store } = trial;
    const ref = trial.ref();
    const large = recordOf(store.maxRecordBytes + 1);
    const thread = trial.thread(ref);
    for (const given of [{ records: [...thread.records, large] }, { journal: [large] }]) {
      await refused(() => store.create({ ...thread, ...given }), "RECORD_TOO_LARGE");
      assert.equal(await store.find(ref.threadId), null);
    }
    await trial.create({}, ref);
  },

  async "threads are listed page by page, highest id first"(trial: Trial) {
    const { store } = trial;
    const refs = Array.from({ length: 45 }, (_, n) => trial.ref(n % 3 === 0 ? otherHash : hash));
    for (const ref of refs.toReversed()) await trial.create({}, ref);
    const ids = refs.map(({ threadId }) => threadId).toReversed();
    const idsOf = (rows: { threadId: string }[]): string[] => rows.map(({ threadId }) => threadId);
    assert.deepEqual(idsOf(await store.list()), ids.slice(0, 20));
    assert.deepEqual(idsOf(await store.list({ before: ids[19] })), ids.slice(20, 40));
    assert.deepEqual(idsOf(await store.list({ before: ids[39] })), ids.slice(40));
    assert.deepEqual(idsOf(await store.list({ before: ids[9], limit: 2 })), ids.slice(10, 12));
    assert.deepEqual(idsOf(await store.list({ before: ids[44] })), []);
    const rows = await store.list({ hash: otherHash, limit: 100 });
    assert.deepEqual(
      idsOf(rows),
      refs.flatMap((ref) => (ref.hash === otherHash ? ref.threadId : [])).toReversed(),
    );
    await store.remove(refs[44] as (typeof refs)[0]);
    assert.deepEqual(idsOf(await store.list({ before: ids[0], limit: 1 })), [ids[1]]);
  },

  async "a ref of another bundle or of a missing thread matches no thread"(trial: Trial) {
    const { store } = trial;
    const ref = trial.ref();
    await trial.create({}, ref);
    const claim = await trial.claim(ref);
    await claim.putBlob(bytesOf("1"));
    claim.keepValue('"kept"');
    await claim.release();
    const strangers = [trial.ref(), { hash: otherHash, threadId: ref.threadId }];
    for (const stranger of strangers) {
      await refused(() => store.read(stranger, "data"), "THREAD_NOT_FOUND");
      await refused(() => store.claim(stranger, { owner: "a", leaseMs: 1 }), "THREAD_NOT_FOUND");
      assert.equal(await store.setPaused(stranger, true), null);
      assert.equal(await store.readBlob(stranger, blobIdOf(bytesOf("1"))), null);
      assert.deepEqual(await store.listBlobs(stranger), []);
      assert.equal(await store.readValue(stranger, 0), null);
      assert.equal(await store.remove(stranger), false);
      await store.postpone(stranger, 1e15);
    }
    for (const text of ["", "__proto__", "../thread", ref.threadId.toLowerCase()]) {
      assert.equal(await store.find(text), null);
    }
    assert.equal((await store.find(ref.threadId))?.paused, false);
    assert.equal((await store.runnable({ now: 1, limit: 9 })).length, 1);
  },

  async "a removed thread is missing, its claim is over, and its id is free"(trial: Trial) {
    const { store } = trial;
    const ref = trial.ref();
    await trial.create({}, ref);
    const claim = await trial.claim(ref);
    claim.event(['{"tag":"CONTRACT","content":"","timestamp":1}']);
    await claim.journal('{"turn":1}');
    await claim.putBlob(bytesOf("1"));
    await claim.append(step("one").record, step("one").state);
    const other = await trial.open();
    assert.equal(await trial.remove(ref, other, store), true);
    assert.equal(await store.remove(ref), false);
    assert.deepEqual([await store.find(ref.threadId), await other.list()], [null, []]);
    await isOver(claim);
    assert.equal(await store.find(ref.threadId), null);
    const thread = await trial.create({}, ref);
    await isOver(claim);
    await claim.release();
    assert.equal(thread.owner, null);
    for (const log of ["journal", "events"] satisfies LogName[]) {
      assert.deepEqual(await readAll(store, ref, log), []);
    }
    assert.deepEqual(await store.listBlobs(ref), []);
    const next = await trial.claim(ref);
    await next.append(step("new").record, step("new").state);
    assert.deepEqual((await recordsIn(store, ref, "data")).slice(1), [step("new").record]);
  },

  async "any store reads a log in pages of whole lines from any cursor"(trial: Trial) {
    const { store } = trial;
    const ref = trial.ref();
    const texts = Array.from({ length: 120 }, (_, n) => step(`${n} ${"x".repeat(20_000)}`).record);
    const records = [startRecord(ref, 1), ...texts];
    await trial.create({ records, journal: texts }, ref);
    const claim = await trial.claim(ref);
    claim.event(texts);
    await claim.release();
    for (const log of ["data", "journal", "events"] satisfies LogName[]) {
      const all = await readAll(store, ref, log);
      assert.equal(all.length, log === "data" ? 121 : 120);
      let read = 0;
      for (let cursor: string | undefined, isEnd = false; !isEnd; ) {
        const other = await trial.open();
        const page = await other.read(ref, log, cursor);
        assert.deepEqual(page.lines, all.slice(read, read + page.lines.length));
        assert.ok(page.lines.join("").length < 1.5 * 1024 * 1024, "about a mebibyte");
        read += page.lines.length;
        ({ cursor, isEnd } = page);
        await other.close();
      }
      assert.equal(read, all.length);
    }
  },

  async "a cursor at the end of a log reads later lines"(trial: Trial) {
    const { store } = trial;
    const ref = trial.ref();
    await trial.create({}, ref);
    const ends = new Map<LogName, string>();
    for (const log of ["data", "journal", "events"] satisfies LogName[]) {
      const { cursor, isEnd } = await store.read(ref, log);
      assert.equal(isEnd, true);
      const again = await store.read(ref, log, cursor);
      assert.deepEqual([again.lines, again.isEnd], [[], true]);
      ends.set(log, again.cursor);
    }
    const claim = await trial.claim(ref, await trial.open());
    claim.event(["{}", '{"n":1}']);
    await claim.journal('{"turn":1}');
    await claim.append(step("one").record, step("one").state);
    await claim.release();
    const counts = { data: 1, journal: 1, events: 2 };
    for (const [log, cursor] of ends) {
      assert.equal((await store.read(ref, log, cursor)).lines.length, counts[log]);
    }
  },

  async "a text that is not a cursor of the log is refused"(trial: Trial) {
    const { store } = trial;
    const [short, long] = [trial.ref(), trial.ref()];
    await trial.create({}, short);
    const records = Array.from({ length: 50 }, (_, n) => step(`step ${n}`).record);
    await trial.create({ records: [startRecord(long, 1), ...records] }, long);
    const { cursor } = await store.read(long, "data");
    for (const wrong of ["", " ", "nonsense", "-1", "1.5", "__proto__", `${cursor}0`, cursor]) {
      await refused(() => store.read(short, "data", wrong), "BAD_POSITION");
    }
  },
};
