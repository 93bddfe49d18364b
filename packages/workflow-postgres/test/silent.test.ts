// @postgres: starts a server
import { afterAll, describe, expect, test } from "bun:test";
import pg from "pg";
import { readDatabaseUrl } from "../src/database/address.ts";
import { openPostgresStore } from "../src/store/store.ts";
import { Link } from "../../workflow-restate/test/faults/link.ts";
import { claims, newThread, step } from "./fixtures/threads.ts";
import { missingPostgres } from "./fixtures/server.ts";
import { emptySchema, select, stopShared } from "./fixtures/shared.ts";

describe.skipIf(missingPostgres !== "")(`silently lost connections${missingPostgres}`, () => {
  afterAll(stopShared);

  test("a record whose reply was lost is acknowledged even after the end of the lease", async () => {
    const { url, drop } = await emptySchema();
    const { url: direct, schema } = readDatabaseUrl(url);
    const link = await Link.to(Number(new URL(url).port));
    const through = new URL(url);
    through.port = String(link.port);
    const store = await openPostgresStore(readDatabaseUrl(through.href));
    const other = new pg.Client({ connectionString: direct });
    await other.connect();
    try {
      const given = newThread("A");
      const { claim } = await store.create(given, { ...claims, leaseMs: 2_000 });
      await other.query(`BEGIN; SELECT FROM ${schema}.threads FOR UPDATE`);
      const written = claim?.append(step("last"), { kind: "ended" });
      const waiting = `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%${schema}%'`;
      while ((await select(url, waiting)).length === 0) await Bun.sleep(5);
      link.cut("lost");
      await other.query("COMMIT");
      expect(await written).toEqual({ paused: false });
      expect((await store.find(given.threadId))?.state).toEqual({ kind: "ended" });
    } finally {
      await other.end();
      await store.close();
      await link.close();
      await drop();
    }
  }, 120_000);

  test("a claim survives the loss of all idle connections", async () => {
    const { url, drop } = await emptySchema();
    const link = await Link.to(Number(new URL(url).port));
    const through = new URL(url);
    through.port = String(link.port);
    const store = await openPostgresStore(readDatabaseUrl(through.href));
    try {
      const given = newThread("A");
      const { claim } = await store.create(given, claims);
      await Promise.all(Array.from({ length: 8 }, () => store.list()));
      link.cut("lost");
      await claim?.append(step("a"), { kind: "running" });
      await claim?.append(step("b"), { kind: "running" });
      expect((await store.read(given, "data")).lines).toHaveLength(3);
    } finally {
      await store.close();
      await link.close();
      await drop();
    }
  }, 120_000);
});
