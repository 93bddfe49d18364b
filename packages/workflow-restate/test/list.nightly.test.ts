// @cluster: starts a server
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { sealed } from "@uncaged/workflow/store";
import { type HostChange, settled, type ThreadRow } from "@uncaged/workflow/host";
import { until } from "../../workflow/test/fixtures/until.ts";
import { ClusterClient } from "../src/client/client.ts";
import { numbered } from "../src/client/frame.ts";
import { createThread } from "../src/client/transfer.ts";
import type { RestateHost } from "../src/entry/index.ts";
import { TestCluster } from "./fixtures/cluster.ts";
import { missingServer } from "./fixtures/server.ts";

/** Number of threads, larger than the index's list of the newest threads. */
const count = 400;

let cluster: TestCluster;
let host: RestateHost;
let hash: string;

beforeAll(async () => {
  if (missingServer !== "") return;
  cluster = await TestCluster.start();
  await cluster.work();
  host = cluster.open();
  hash = await cluster.put(host, bundle);
  await beginAll(0, count);
});
afterAll(async () => {
  if (missingServer === "") await cluster.stop();
});

const bundle = `export const descriptor = { description: "of a test", roles: {} };
export async function* run() { return { returnCode: 0, summary: "" }; }`;

/** Returns the nth thread id: a hundred ids per hour. */
const idOf = (n: number): string =>
  `01K00${"048CGMR"[Math.floor(n / 100)]}0000${String(n).padStart(16, "0")}`;

/** Creates a waiting thread in the cluster. */
async function begin(client: ClusterClient, threadId: string): Promise<void> {
  const timestamp = Date.now();
  const parameters = { prompt: "", options: { maxRounds: 10 } };
  const start = { name: "list", hash, threadId, parameters, timestamp };
  const last = { role: "__wait__", content: "?", meta: { for: "an answer" }, timestamp };
  const first = sealed(JSON.stringify(start));
  const second = sealed(JSON.stringify(last), first.sum);
  const header = {
    ...{ threadId, hash, workflow: "list", createdAt: timestamp, records: 2, text: "", taken: [] },
    ...{ sum: second.sum.toString(16), last: { role: last.role, timestamp, waits: true } },
  };
  const lines = [first.text, second.text].map((text) => Buffer.from(text));
  await createThread(client, header, () =>
    lines.map((bytes, n) => ({ key: numbered("s", n), bytes })),
  );
}

async function beginAll(from: number, end: number): Promise<void> {
  const client = new ClusterClient(cluster.cluster.address);
  const left = Array.from({ length: end - from }, (_, n) => from + n).values();
  const some = async () => {
    for (const n of left) await begin(client, idOf(n));
  };
  await Promise.all(Array.from({ length: 16 }, some));
}

async function pagesOf(limit: number): Promise<ThreadRow[]> {
  const rows: ThreadRow[] = [];
  let before: string | undefined;
  do {
    const page = await host.threads({ limit, ...(before !== undefined && { before }) });
    rows.push(...page.rows);
    before = page.next ?? undefined;
  } while (before !== undefined);
  return rows;
}

const totalNow = async () => (await host.threads({ limit: 1 })).total;

describe.skipIf(missingServer !== "")(`the threads of a cluster${missingServer}`, () => {
  test("are counted and listed newest first, across hours and pages", async () => {
    await until(async () => (await totalNow()) === count);
    const ids = Array.from({ length: count }, (_, n) => idOf(count - 1 - n));
    const page = await host.threads({ limit: 20 });
    expect(page.rows.map(({ threadId }) => threadId)).toEqual(ids.slice(0, 20));
    expect([page.total, page.next]).toEqual([count, ids[19] as string]);
    expect(page.rows.every(({ status }) => status === "waiting")).toBe(true);
    expect((await pagesOf(150)).map(({ threadId }) => threadId)).toEqual(ids);
    const behind = await host.threads({ limit: 3, offset: 390 });
    expect(behind.rows.map(({ threadId }) => threadId)).toEqual(ids.slice(390, 393));
  });

  test("are found by status beyond the newest, and by text", async () => {
    const killed = [idOf(2), idOf(250), idOf(399)];
    for (const threadId of killed) await host.control({ hash, threadId }, { kind: "kill" });
    const found = async () => (await host.threads({ status: "killed" })).rows;
    await until(async () => (await found()).length === killed.length);
    expect((await found()).map(({ threadId }) => threadId)).toEqual(killed.toReversed());
    const { rows } = await host.threads({ search: idOf(7).toLowerCase() });
    expect(rows.map(({ threadId }) => threadId)).toEqual([idOf(7)]);
  });

  test("that have ended are listed and summed up without reading their logs", async () => {
    const paid = await cluster.put(
      host,
      `export const descriptor = { description: "of a test", roles: {} };
      export async function* run({ prompt }, { signal }) {
        const usage = { input_tokens: 90, output_tokens: 10 };
        yield { role: "code", content: "", meta: { usage, cost: 2, model: "m" } };
        if (prompt === "stay") await new Promise((resolve) => signal.addEventListener("abort", resolve));
        return { returnCode: 0, summary: "" };
      }`,
      "paid",
    );
    const started = async (prompt: string) => {
      const { threadId } = await host.start({ workflow: "paid", prompt, cwd: "/", env: {} });
      return { hash: paid, threadId };
    };
    await settled(host, await started("go"));
    const stays = await started("stay");
    await until(async () => (await host.read(stays)).steps.length === 1);
    await host.control(stays, { kind: "kill" });
    await until(async () => (await host.threads({ minCost: 2 })).rows.length === 2);
    const other = cluster.open();
    const { rows } = await other.threads({ workflow: paid });
    const at = { role: "code", text: null };
    const spent = { tokens: 100, cost: 2, unpriced: 0 };
    expect(rows).toMatchObject([
      { status: "killed", subject: "stay", at, spent },
      { status: "completed", subject: "go", at, spent },
    ]);
    const { hours } = await other.summary({ workflow: paid });
    expect(hours.reduce((sum, { cost }) => sum + cost, 0)).toBe(4);
    expect(await other.history("paid")).toMatchObject([
      { threads: 2, completed: 1, cost: 4, roles: [{ name: "code", calls: 2 }] },
    ]);
    const logs = join(other.root, "logs", paid);
    expect(existsSync(logs) ? readdirSync(logs) : []).toEqual([]);
    for (const { threadId } of rows) await host.remove({ hash: paid, threadId });
    await until(async () => (await totalNow()) === count);
  });

  test("report changes and removals of new and old threads", async () => {
    const changed: HostChange[] = [];
    const stop = new AbortController();
    let isReady = false;
    const reading = (async () => {
      for await (const change of host.changes(stop.signal)) {
        isReady ||= change.kind === "ready";
        changed.push(change);
      }
    })();
    await until(() => isReady);
    const isSeen = (wanted: object) => changed.some((change) => Bun.deepMatch(wanted, change));
    const newer = 220;
    await beginAll(count, count + newer);
    const ids = [idOf(count + newer - 1), idOf(230)];
    await until(() => isSeen({ kind: "thread", row: { threadId: ids[0] } }));
    const refs = ids.map((threadId) => ({ hash, threadId }));
    for (const ref of refs) await host.control(ref, { kind: "kill" });
    for (const { threadId } of refs) {
      await until(() => isSeen({ kind: "thread", row: { threadId, status: "killed" } }));
      await host.remove({ hash, threadId });
      await until(() => isSeen({ kind: "removed", threadId }));
    }
    await until(async () => (await totalNow()) === count + newer - refs.length);
    stop.abort();
    await reading;
  });
});
