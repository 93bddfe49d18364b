import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Host, isWorkflowError, type ThreadRef } from "@uncaged/workflow/host";
import { openPostgresHost } from "../src/host/host.ts";
import { noOrders, tenAtOnce } from "../../workflow-restate/test/faults/commands.ts";
import { newId, randomOf } from "../../workflow-restate/test/faults/random.ts";
import { missingPostgres, PostgresServer } from "./fixtures/server.ts";
import { execute, select } from "./fixtures/shared.ts";
import { TestWorker } from "./fixtures/workers.ts";

const schema = "uncaged";
const askingBundle = `export const descriptor = { description: "asks", roles: {} };
export async function* run({ steps }) {
  if (steps.length === 0) yield { role: "__wait__", content: "go on?", meta: { for: "word" } };
  return { returnCode: 0, summary: "answered" };
}`;

describe.skipIf(missingPostgres !== "")(`many threads${missingPostgres}`, () => {
  const folder = mkdtempSync(join(tmpdir(), "postgres-scale-"));
  const random = randomOf(1);
  let server: PostgresServer;
  let host: Host;
  let hash: string;

  beforeAll(async () => {
    server = await PostgresServer.start();
    host = await openPostgresHost({ url: server.url() });
    const file = join(folder, "asks.esm.js");
    writeFileSync(file, askingBundle);
    ({ hash } = await host.store(file, { sandbox: "off" }));
  });
  afterAll(async () => {
    await host.close();
    await server.remove();
    rmSync(folder, { recursive: true, force: true });
  });

  const sql = <Row>(text: string, values: unknown[] = []) =>
    select(server.url(), text, values) as Promise<Row[]>;

  async function started(count: number): Promise<ThreadRef[]> {
    const refs: ThreadRef[] = [];
    const one = async () => {
      while (refs.length < count) {
        const ref = { hash, threadId: newId(random) };
        refs.push(ref);
        await host.start({ workflow: hash, threadId: ref.threadId, cwd: "/", env: {} });
      }
    };
    await Promise.all(Array.from({ length: 10 }, one));
    return refs;
  }

  async function until(condition: string, count: number): Promise<void> {
    const text = `SELECT count(*)::int AS n FROM ${schema}.threads WHERE ${condition}`;
    while ((await sql<{ n: number }>(text))[0]?.n !== count) await Bun.sleep(50);
  }

  test("a thousand threads are answered at once without reading 100,000 waiting threads", async () => {
    const worker = await TestWorker.start({ url: server.url() });
    const refs = await started(1000);
    await until("state = 'waiting' AND owner IS NULL", 1000);
    // Make copies of a waiting thread. A worker must neither hold nor read them.
    const { threadId } = refs[0] as ThreadRef;
    const id = "lpad(n::text, 26, '0')";
    await execute(
      server.url(),
      `INSERT INTO ${schema}.threads (thread_id, hash, name, created_at, updated_at, state, records, turns,
         record_sum, turn_sum)
       SELECT ${id}, hash, name, created_at, updated_at, state, records, turns, record_sum, turn_sum
       FROM ${schema}.threads, generate_series(1, 100000) AS n WHERE thread_id = '${threadId}'`,
    );
    await execute(server.url(), "ANALYZE");
    await execute(server.url(), "SELECT pg_stat_reset()");
    await Promise.all(
      refs.map((ref) => host.control(ref, { kind: "answer", input: { content: "yes" }, env: {} })),
    );
    await until("state = 'ended'", 1000);
    await until("owner IS NOT NULL", 0);
    const records = await sql(
      `SELECT DISTINCT records FROM ${schema}.threads WHERE state = 'ended'`,
    );
    expect(records).toEqual([{ records: 4 }]);
    await worker.kill();
  }, 300_000);

  test("an idle worker sends a fixed number of short queries, for any number of waiting threads", async () => {
    // A connection reports the statistics of earlier tests at the latest when it ends.
    const earlier = "FROM pg_stat_activity WHERE pid = ANY($1)";
    const pids = (
      await sql<{ pid: number }>(
        `SELECT pid, pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()`,
      )
    ).map(({ pid }) => pid);
    while ((await sql(`SELECT ${earlier}`, [pids])).length > 0) await Bun.sleep(20);
    const worker = await TestWorker.start({ url: server.url() });
    type Work = { transactions: number; rows: number };
    const work = async (): Promise<Work> => {
      await Bun.sleep(2_000);
      await execute(server.url(), "SELECT pg_stat_force_next_flush()").catch(() => undefined);
      const [row] = await sql<Work>(
        `SELECT xact_commit::int AS transactions,
           (SELECT coalesce(sum(seq_tup_read + idx_tup_fetch), 0)::int FROM pg_stat_user_tables
            WHERE relname IN ('threads', 'removals') OR relname LIKE 'lines%') AS rows
         FROM pg_stat_database WHERE datname = 'postgres'`,
      );
      return row as Work;
    };
    const [before, after] = [await work(), (await Bun.sleep(10_000), await work())];
    if (process.env.SHOW === "1") console.log(before, after);
    expect(after.rows - before.rows).toBeLessThan(1_000);
    await worker.kill();
  }, 60_000);

  test("ten concurrent commands to a thread have one outcome, and each refusal is explained", async () => {
    const worker = await TestWorker.start({ url: server.url() });
    for (const ref of await started(10)) {
      await until(`thread_id = '${ref.threadId}' AND state = 'waiting'`, 1);
      const orders = noOrders();
      const { unexpected } = await tenAtOnce(host, ref, orders, random);
      expect(unexpected).toEqual([]);
      expect(orders.acknowledged.length).toBeLessThanOrEqual(1);
      const { steps } = await host.read(ref);
      const answers = steps.filter(({ role }) => role === "__input__");
      expect(answers.map(({ content }) => content)).toEqual(orders.acknowledged);
    }
    await worker.kill();
  }, 60_000);

  test("one of two hosts starts an id, and one of twenty hosts takes a name", async () => {
    const other = await openPostgresHost({ url: server.url() });
    const threadId = newId(random);
    const start = { workflow: hash, threadId, cwd: "/", env: {} };
    const both = await Promise.all([host, other, host, other].map((one) => one.start(start)));
    expect(new Set(both.map((one) => one.threadId))).toEqual(new Set([threadId]));
    expect(
      await sql(`SELECT fence FROM ${schema}.threads WHERE thread_id = $1`, [threadId]),
    ).toHaveLength(1);

    const files = Array.from({ length: 20 }, (_, n) => {
      const file = join(folder, `v${n}.esm.js`);
      writeFileSync(file, `${askingBundle}\n// ${n}`);
      return file;
    });
    const given = await Promise.allSettled(
      files.map((file, n) =>
        (n % 2 ? host : other).register("one", file, { sandbox: "off", expected: null }),
      ),
    );
    const [wins, losses] = [
      given.filter(({ status }) => status === "fulfilled"),
      given.flatMap((one) => (one.status === "rejected" ? [one.reason as unknown] : [])),
    ];
    expect(wins).toHaveLength(1);
    expect(losses.map((error) => isWorkflowError(error) && error.code)).toEqual(
      Array.from({ length: 19 }, () => "VERSION_CONFLICT"),
    );
    const added = await Promise.all(
      files.map((file, n) => (n % 2 ? host : other).register("all", file, { sandbox: "off" })),
    );
    const history = await host.history("all");
    expect(new Set(history.map((row) => row.hash))).toEqual(new Set(added.map((row) => row.hash)));
    await other.close();
  }, 60_000);
});
