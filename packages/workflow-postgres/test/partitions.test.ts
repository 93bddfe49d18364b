// @postgres: starts a server
import { afterAll, describe, expect, test } from "bun:test";
import { toBase32 } from "@uncaged/workflow/store";
import { Database } from "../src/database/database.ts";
import { readDatabaseUrl } from "../src/database/address.ts";
import { deleteEnded, ensurePartitions } from "../src/schema/partitions.ts";
import { openPostgresStore } from "../src/store/store.ts";
import { missingPostgres } from "./fixtures/server.ts";
import { emptySchema, stopShared } from "./fixtures/shared.ts";

const day = 86_400_000;
const hash = "1000000000001";

describe.skipIf(missingPostgres !== "")(`partitions${missingPostgres}`, () => {
  afterAll(stopShared);

  test("old ended threads are deleted, and their partition is dropped when it is empty", async () => {
    const { url, drop } = await emptySchema();
    const store = await openPostgresStore(readDatabaseUrl(url));
    const database = new Database(readDatabaseUrl(url), { pool: 2 });
    const first = Date.UTC(2026, 0, 5);
    await Promise.all([1, 2].map(() => ensurePartitions(database, "day", { now: first })));
    const make = async (time: number, end: string, state: "ended" | "waiting") => {
      const threadId = toBase32(time, 10) + end.repeat(16);
      const parameters = { prompt: "", options: { maxRounds: 100, cwd: "/" } };
      const record = { name: "x", hash, threadId, parameters, timestamp: time };
      const of = state === "ended" ? { kind: state } : { kind: state, dueAt: null };
      const records = [JSON.stringify(record)];
      await store.create({ hash, threadId, name: "x", createdAt: time, records, state: of });
      return { hash, threadId };
    };
    const old = await make(first, "A", "ended");
    const waits = await make(first + day, "B", "waiting");
    const beside = await make(first + day, "C", "ended");
    const partitions = async () =>
      (
        await database.query<{ name: string }>(
          "SELECT relid::text AS name FROM pg_partition_tree($1::regclass) WHERE isleaf",
          [`${database.schema}.lines`],
        )
      ).map(({ name }) => name.split(".")[1]);
    expect(await partitions()).toContain("lines_2026_01_05");
    expect(await deleteEnded(database, Date.now() + day)).toBe(2);
    const kept = (await partitions()).filter((name) => name?.startsWith("lines_2026_01_"));
    expect(kept).toEqual(["lines_2026_01_06"]);
    expect(await partitions()).toContain("lines_other");
    expect(await store.find(old.threadId)).toBe(null);
    expect(await store.find(beside.threadId)).toBe(null);
    expect((await store.read(waits, "data")).lines).toHaveLength(1);
    const left = await database.query(`SELECT FROM ${database.schema}.lines`);
    expect(left).toHaveLength(1);
    await store.close();
    await database.close();
    await drop();
  });
});
