import { afterAll, describe, expect, test } from "bun:test";
import { FencedError } from "@uncaged/workflow/store";
import pg from "pg";
import { readDatabaseUrl } from "../src/database/address.ts";
import { openPostgresStore, type PostgresStore } from "../src/store/store.ts";
import { missingPostgres } from "./fixtures/server.ts";
import { emptySchema, execute, select, stopShared } from "./fixtures/shared.ts";
import { claims, hash, newThread, step } from "./fixtures/threads.ts";

type Parts = {
  store: PostgresStore;
  schema: string;
  url: string;
  /** A connection of another program, in an open transaction. */
  other: pg.Client;
  /** Resolves when a statement waits for a lock of `other`. */
  isBlocked: () => Promise<void>;
};

/** Runs a function on a store while another program has an open transaction. */
async function beside(act: (parts: Parts) => Promise<void>): Promise<void> {
  const { url, drop } = await emptySchema();
  const address = readDatabaseUrl(url);
  const store = await openPostgresStore(address);
  const other = new pg.Client({ connectionString: address.url });
  await other.connect();
  await other.query("BEGIN");
  const isBlocked = async () => {
    const sql = `SELECT 1 FROM pg_stat_activity
      WHERE wait_event_type = 'Lock' AND query LIKE '%${address.schema}%'`;
    while ((await select(url, sql)).length === 0) await Bun.sleep(5);
  };
  try {
    await act({ store, schema: address.schema, url, other, isBlocked });
  } finally {
    await other.end();
    await store.close();
    await drop();
  }
}

describe.skipIf(missingPostgres !== "")(`concurrent statements${missingPostgres}`, () => {
  afterAll(stopShared);

  test("a thread that is removed during a write leaves no line", async () => {
    await beside(async ({ store, schema, url, other, isBlocked }) => {
      const given = newThread("A");
      await store.create(given);
      const { threadId } = given;
      await other.query(`SELECT FROM ${schema}.threads WHERE thread_id = $1 FOR UPDATE`, [
        threadId,
      ]);
      await other.query(`INSERT INTO ${schema}.lines VALUES ($1, 0, 1, 'a step')`, [threadId]);
      const removed = store.remove(given);
      await isBlocked();
      await other.query("COMMIT");
      expect(await removed).toBe(true);
      expect(await select(url, `SELECT n FROM ${schema}.lines`)).toEqual([]);
      expect((await store.create(given)).created).toBe(true);
    });
  });

  test("a claim writes nothing after its release and a takeover in the same process", async () => {
    await beside(async ({ store, schema, other, isBlocked }) => {
      const [given, busy] = [newThread("A"), newThread("B")];
      const held = (await store.create(busy, claims)).claim;
      const before = (await store.create(given, claims)).claim;
      await other.query(`SELECT FROM ${schema}.threads WHERE thread_id = $1 FOR UPDATE`, [
        busy.threadId,
      ]);
      // All later writes of this store wait for this write, and are then sent together.
      const first = held?.append(step("beside"), { kind: "running" });
      await isBlocked();
      const lost = before?.append(step("of the claim before"), { kind: "running" });
      const refused = lost?.catch((error: unknown) => error);
      void before?.release();
      const claim = await store.claim(given, { ...claims, takeOver: true });
      const kept = claim?.append(step("of the claim"), { kind: "running" });
      await other.query("COMMIT");
      await first;
      await kept;
      expect(await refused).toBeInstanceOf(FencedError);
      const { lines } = await store.read(given, "data");
      expect(lines.map((line) => JSON.parse(line).content)).toEqual([undefined, "of the claim"]);
    });
  });

  test("commands succeed if every transaction is serializable", async () => {
    const { url, drop } = await emptySchema();
    const strict = new URL(url);
    strict.searchParams.set("options", "-c default_transaction_isolation=serializable");
    const store = await openPostgresStore(readDatabaseUrl(strict.href), { pool: 8 });
    const given = newThread("A");
    const created = await Promise.all(Array.from({ length: 8 }, () => store.create(given)));
    expect(created.filter((one) => one.created)).toHaveLength(1);
    const acts = [true, false, true, false].flatMap((paused) => [
      () => store.setPaused(given, paused),
      () => store.postpone(given, Date.now()),
      () => store.claim(given, { ...claims, takeOver: true }),
    ]);
    await Promise.all(acts.map((act) => act()));
    await store.close();
    await drop();
  });

  test("a bundle can't be removed while a thread of it is created or a name for it is written", async () => {
    await beside(async ({ store, schema, other, isBlocked }) => {
      const given = newThread("A");
      await store.putBundle({ hash, code: new Uint8Array([1]), descriptor: "" });
      await other.query(`SELECT FROM ${schema}.bundles WHERE hash = $1 FOR KEY SHARE`, [hash]);
      await other.query(
        `INSERT INTO ${schema}.threads 
           (thread_id, hash, name, created_at, updated_at, state, records, turns, record_sum, turn_sum)
         VALUES ($1, $2, 'x', 0, 0, 'running', 0, 0, '', '')`,
        [given.threadId, hash],
      );
      const removed = store.removeUnused(hash);
      await isBlocked();
      await other.query("COMMIT");
      expect(await removed).toBe(false);
      await store.remove(given);
      await other.query("BEGIN");
      await other.query(`UPDATE ${schema}.registry SET content = 'a: ${hash}'`);
      const named = store.removeUnused(hash);
      await isBlocked();
      await other.query("COMMIT");
      expect(await named).toBe(false);
      await other.query(`UPDATE ${schema}.registry SET content = ''`);
      expect(await store.removeUnused(hash)).toBe(true);
      expect(await store.removeUnused(hash)).toBe(false);
    });
  });

  test("creating a thread while its bundle is removed reports a missing bundle", async () => {
    await beside(async ({ store, schema, other, isBlocked }) => {
      await store.putBundle({ hash, code: new Uint8Array([1]), descriptor: "" });
      await other.query(`DELETE FROM ${schema}.bundles`);
      const created = store.create(newThread("A"));
      await isBlocked();
      await other.query("COMMIT");
      expect(await created).toMatchObject({ created: true, lacksBundle: true });
    });
  });

  test("a watch reports that a postponed thread may run", async () => {
    await beside(async ({ store }) => {
      const given = newThread("A");
      await store.create(given);
      await store.postpone(given, Date.now() + 3_600_000);
      const seen: string[] = [];
      for await (const change of store.watch(AbortSignal.timeout(20_000))) {
        if (change.kind === "ready") await store.postpone(given, 0);
        if ("ref" in change) break;
        seen.push(change.kind);
      }
      expect(seen).toEqual(["ready"]);
      expect(await store.runnable({ now: Date.now(), limit: 1 })).toHaveLength(1);
    });
  });

  test("a thread from the backup of a server with more transactions is not reported as changed", async () => {
    const { url, drop } = await emptySchema();
    const { schema } = readDatabaseUrl(url);
    const store = await openPostgresStore(readDatabaseUrl(url));
    const [restored, changed] = [newThread("A"), newThread("B")];
    await store.create(restored);
    await execute(url, `UPDATE ${schema}.threads SET changed = '9000000000000000000'::xid8`);
    const seen: string[] = [];
    for await (const change of store.watch(AbortSignal.timeout(20_000))) {
      if (change.kind === "ready") await store.create(changed);
      else if ("ref" in change) seen.push(change.ref.threadId);
      if (seen.includes(changed.threadId)) break;
    }
    expect(seen).toEqual([changed.threadId]);
    await store.close();
    await drop();
  });
});
