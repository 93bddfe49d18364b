import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Host } from "@uncaged/workflow/host";
import { openPostgresHost } from "../src/host/host.ts";
import { Link } from "../../workflow-restate/test/faults/link.ts";
import { missingPostgres, PostgresServer } from "./fixtures/server.ts";
import { execute, select } from "./fixtures/shared.ts";
import { TestWorker } from "./fixtures/workers.ts";

/** A lease that outlasts the tests. */
const leaseMs = 3_600_000;
const slowBundle = `export const descriptor = { description: "slow", roles: {} };
export async function* run({ steps }) {
  for (let n = steps.length; n < 100_000; n += 1) {
    await new Promise((done) => setTimeout(done, 20));
    yield { role: "a", content: "", meta: { pid: process.pid } };
  }
  return { returnCode: 0, summary: "" };
}`;

/* The tests compare leases and fences instead of measuring times. */
describe.skipIf(missingPostgres !== "")(`the threads of a worker${missingPostgres}`, () => {
  let server: PostgresServer;
  let host: Host;
  let hash: string;
  const folder = mkdtempSync(join(tmpdir(), "presence-"));
  const workers: TestWorker[] = [];
  const links: Link[] = [];

  beforeAll(async () => {
    server = await PostgresServer.start();
    host = await openPostgresHost({ url: server.url() });
    const file = join(folder, "slow.esm.js");
    writeFileSync(file, slowBundle);
    ({ hash } = await host.store(file, { sandbox: "off" }));
  });
  afterAll(async () => {
    await host.close();
    await server.remove();
    rmSync(folder, { recursive: true, force: true });
  });

  async function started(options: { leaseMs: number; user?: string }): Promise<[TestWorker, Link]> {
    const link = await Link.to(server.port);
    const url = new URL(server.url());
    url.port = String(link.port);
    if (options.user !== undefined) url.username = options.user;
    const { leaseMs: lease } = options;
    const worker = await TestWorker.start({ url: url.href, leaseMs: lease }, join(folder, "log"));
    workers.push(worker);
    links.push(link);
    // Before the first heartbeat, only the leases show that a worker is dead.
    const sql = "SELECT 1 FROM uncaged.workers WHERE name = $1";
    while ((await select(server.url(), sql, [worker.owner])).length === 0) await Bun.sleep(20);
    return [worker, link];
  }

  type Row = { owner: string | null; fence: string; lease: string; now: string };
  async function row(threadId: string): Promise<Row> {
    const sql = `SELECT owner, fence, extract(epoch FROM lease_until) * 1000 AS lease,
      extract(epoch FROM clock_timestamp()) * 1000 AS now
      FROM uncaged.threads WHERE thread_id = $1`;
    return (await select(server.url(), sql, [threadId]))[0] as Row;
  }

  async function drivenBy(threadId: string, ...owners: string[]): Promise<Row> {
    for (;;) {
      const found = await row(threadId);
      if (found.owner !== null && owners.includes(found.owner)) return found;
      await Bun.sleep(20);
    }
  }

  async function run(): Promise<string> {
    const { threadId } = await host.start({
      ...{ workflow: hash, maxRounds: 100_000, cwd: "/", env: {} },
    });
    return threadId;
  }

  async function ended(): Promise<void> {
    await Promise.all(workers.splice(0).map((worker) => worker.kill()));
    await Promise.all(links.splice(0).map((link) => link.close()));
    await execute(server.url(), "DELETE FROM uncaged.threads; DELETE FROM uncaged.workers");
  }

  test("continue elsewhere before the lease ends if the worker was killed", async () => {
    const [[first], [second]] = [await started({ leaseMs }), await started({ leaseMs })];
    const threadId = await run();
    const { owner } = await drivenBy(threadId, first.owner, second.owner);
    const [lost, other] = owner === first.owner ? [first, second] : [second, first];
    await lost.kill();
    await drivenBy(threadId, other.owner);
    await ended();
  }, 120_000);

  test("continue elsewhere even if the next worker previously lost its own connections", async () => {
    const [first] = await started({ leaseMs });
    const threadId = await run();
    await drivenBy(threadId, first.owner);
    const [second, link] = await started({ leaseMs });
    link.cut("lost");
    link.restore();
    await first.kill();
    await drivenBy(threadId, second.owner);
    await ended();
  }, 120_000);

  test("stay with a frozen worker until its lease ends", async () => {
    const lease = { leaseMs: 4_000 };
    const [[first], [second]] = [await started(lease), await started(lease)];
    const threadId = await run();
    const before = await drivenBy(threadId, first.owner, second.owner);
    const [frozen, other] = before.owner === first.owner ? [first, second] : [second, first];
    frozen.freeze();
    let held = await row(threadId);
    for (let next = held; next.fence === before.fence; next = await row(threadId)) held = next;
    const after = await drivenBy(threadId, other.owner);
    // The next worker's lease begins after the end of the first lease.
    expect(Number(after.now)).toBeGreaterThan(Number(held.lease));
    frozen.thaw();
    await ended();
  }, 120_000);

  test("stay with a live worker that is another user of the database", async () => {
    await execute(server.url(), "CREATE ROLE plain LOGIN");
    await execute(server.url(), "GRANT ALL ON SCHEMA uncaged TO plain");
    await execute(server.url(), "GRANT ALL ON ALL TABLES IN SCHEMA uncaged TO plain");
    await execute(server.url(), "GRANT ALL ON ALL SEQUENCES IN SCHEMA uncaged TO plain");
    const [first] = await started({ leaseMs });
    const threadId = await run();
    const before = await drivenBy(threadId, first.owner);
    first.freeze();
    const judge = await started({ leaseMs, user: "plain" });
    // A worker declares others dead only after its own connection is old enough.
    const sql = `SELECT 1 FROM uncaged.workers
      WHERE name = $1 AND seen_at > backend_start + interval '12 s'`;
    while ((await select(server.url(), sql, [judge[0].owner])).length === 0) await Bun.sleep(100);
    expect(await row(threadId)).toMatchObject({ owner: first.owner, fence: before.fence });
    first.thaw();
    await ended();
  }, 120_000);
});
