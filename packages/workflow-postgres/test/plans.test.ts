// @postgres: starts a server
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readDatabaseUrl } from "../src/database/address.ts";
import { Database } from "../src/database/database.ts";
import { openPlanRows, planRows, type PlanRows } from "../src/host/plans.ts";
import { missingPostgres } from "./fixtures/server.ts";
import { emptySchema, execute, select, stopShared } from "./fixtures/shared.ts";

let url: string;
let drop: () => Promise<void>;
let rows: PlanRows;

/** A database that loses the reply to each write statement. */
class LossyDatabase extends Database {
  lost = 0;
  override async query<Row extends object>(
    ...given: Parameters<Database["query"]>
  ): Promise<Row[]> {
    const found = await super.query<Row>(...given);
    if (!given[0].includes("INSERT") || (this.lost += 1) > 3) return found;
    throw Object.assign(new Error("Connection terminated"), { code: "ECONNRESET" });
  }
}

describe.skipIf(missingPostgres !== "")(`the rows of plans in PostgreSQL${missingPostgres}`, () => {
  beforeAll(async () => {
    ({ url, drop } = await emptySchema());
    rows = await openPlanRows(readDatabaseUrl(url));
  });
  afterAll(async () => {
    await rows.close();
    await drop();
    await stopShared();
  });

  test("a reader gets the rows that were changed or deleted since its version", async () => {
    expect(await rows.since(0)).toEqual({ version: 0, isAll: true, rows: new Map() });
    expect(await rows.commit(0, { a: { text: "null \u0000, \ud800, '" }, b: { n: 1 } })).toBe(true);
    expect(await rows.commit(1, { a: null, c: { n: 2 } })).toBe(true);
    expect(await rows.commit(1, { a: { text: "stale" } })).toBe(false);
    expect(await rows.commit(5, { a: { text: "too new" } })).toBe(false);
    const changed = {
      version: 2,
      isAll: false,
      rows: new Map(Object.entries({ a: null, c: { n: 2 } })),
    };
    expect(await rows.since(1)).toEqual(changed);
    const all = {
      version: 2,
      isAll: true,
      rows: new Map(Object.entries({ b: { n: 1 }, c: { n: 2 } })),
    };
    expect([await rows.since(0), await rows.since(9)]).toEqual([all, all]);
    expect(await rows.since(2)).toEqual({ version: 2, isAll: false, rows: new Map() });
    expect(await rows.commit(2, { a: { text: "null \u0000, \ud800, '" } })).toBe(true);
    expect((await rows.since(2)).rows.get("a")).toEqual({ text: "null \u0000, \ud800, '" });
  });

  test("twenty concurrent writers lose no change, and each commits once", async () => {
    const writers = await Promise.all(
      Array.from({ length: 20 }, () => openPlanRows(readDatabaseUrl(url))),
    );
    const commits = new Set<number>();
    await Promise.all(
      writers.map(async (writer) => {
        for (let done = 0; done < 3; ) {
          const { version, rows: all } = await writer.since(0);
          const { n } = (all.get("count") as { n: number } | undefined) ?? { n: 0 };
          if (!(await writer.commit(version, { count: { n: n + 1 } }))) continue;
          expect(commits.has(version)).toBe(false);
          commits.add(version);
          done += 1;
        }
      }),
    );
    for (const writer of writers) await writer.close();
    expect((await rows.since(0)).rows.get("count")).toEqual({ n: 60 });
  });

  test("a commit whose reply was lost is applied once", async () => {
    const database = new LossyDatabase(readDatabaseUrl(url), { pool: 1 });
    const lossy = planRows(database);
    const { version } = await rows.since(0);
    expect(await lossy.commit(version, { once: { n: 1 } })).toBe(true);
    expect([database.lost, (await rows.since(0)).version]).toEqual([4, version + 1]);
    await lossy.close();
  });

  test("a reader that missed more than a thousand commits gets all rows", async () => {
    const { version } = await rows.since(0);
    await rows.commit(version, { gone: { n: 1 } });
    await rows.commit(version + 1, { gone: null });
    const last = version + 1_010;
    const { schema } = readDatabaseUrl(url);
    const commits = `INSERT INTO ${schema}.plan_commits SELECT n, 'x' FROM generate_series($1::int, $2::int) n`;
    await execute(url, commits, [version + 3, last]);
    await rows.commit(last, { count: { n: 0 } });
    const { isAll, rows: found } = await rows.since(version + 1);
    expect([isAll, found.has("gone"), found.has("b")]).toEqual([true, false, true]);
    expect((await rows.since(last)).rows).toEqual(new Map([["count", { n: 0 }]]));
    const [{ kept } = { kept: 0 }] = await select<{ kept: number }>(
      url,
      `SELECT ((SELECT count(*) FROM ${schema}.plan_commits)
         + (SELECT count(*) FROM ${schema}.plan_rows WHERE content IS NULL AND version < ${version + 3}))::int AS kept`,
    );
    expect(kept).toBe(1_000);
  });

  test("only one of twenty concurrent callers holds a lock at a time", async () => {
    const holders: number[] = [];
    let most = 0;
    let waits = 0;
    await Promise.all(
      Array.from({ length: 20 }, async (_, n) => {
        const lock = await rows.lock("service", () => (waits += 1));
        holders.push(n);
        most = Math.max(most, holders.length);
        await rows.since(0);
        holders.pop();
        await lock.release();
      }),
    );
    expect(most).toBe(1);
    expect(waits).toBeGreaterThan(0);
  });
});
