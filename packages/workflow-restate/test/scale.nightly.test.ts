// @cluster: starts a server, with many threads and a large bundle
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { settled, type ThreadRef } from "@uncaged/workflow/host";
import { isWhole } from "../../workflow/test/fixtures/cases.ts";
import { codeOf } from "../../workflow/test/fixtures/until.ts";
import { ClusterClient } from "../src/client/client.ts";
import type { RestateHost } from "../src/entry/index.ts";
import { TestCluster, type WorkerProcess } from "./fixtures/cluster.ts";
import { missingServer } from "./fixtures/server.ts";
import { bearer } from "./fixtures/shared-cluster.ts";

/** Number of waiting threads, and number of threads with simultaneous answers. */
const [waiting, answered] = isWhole ? [600, 150] : [150, 50];

let cluster: TestCluster;
let host: RestateHost;
let client: ClusterClient;

beforeAll(async () => {
  if (missingServer !== "") return;
  cluster = await TestCluster.balanced(2);
  host = cluster.open();
  client = new ClusterClient(cluster.cluster.address);
});
afterAll(async () => {
  if (missingServer === "") await cluster.stop();
});

/** Starts two workers behind the balancer. */
async function work(): Promise<void> {
  for (let n = 0; n < 2; n += 1) await cluster.work({ register: false });
  cluster.use(cluster.workers.slice(-2));
}

const bundle = (body: string): string => `import { appendFileSync } from "node:fs";
export const descriptor = { description: "of a test", roles: {} };
export async function* run(input, options) {
  const step = (role, content = role, meta = {}) => ({ role, content, meta });
  ${body}
  return { returnCode: 0, summary: "done" };
}`;

/** Runs an action for every item, at most `atOnce` at a time. */
async function forEach<T>(all: readonly T[], atOnce: number, act: (one: T) => Promise<unknown>) {
  const left = [...all];
  const next = async () => {
    for (let one = left.pop(); one !== undefined; one = left.pop()) await act(one);
  };
  await Promise.all(Array.from({ length: atOnce }, next));
}

/** Number of running and queued invocations. */
const invocations = async (): Promise<number> =>
  (await client.query<{ count: number }>("SELECT count(*) AS count FROM sys_invocation"))[0]
    ?.count ?? 0;

/** Waits until a cluster is idle. */
async function rest(): Promise<void> {
  while ((await invocations()) > 0) await Bun.sleep(50);
}

/** Returns the number of threads that a worker drives. */
async function drivenBy({ health }: WorkerProcess): Promise<number> {
  const response = await fetch(`http://127.0.0.1:${health}/health`, {
    headers: bearer(cluster.cluster.address),
  });
  return ((await response.json()) as { threads: number }).threads;
}

/** Returns the number of threads with a status. */
async function count(status: "waiting" | "completed"): Promise<number> {
  let found = 0;
  for (let before: string | undefined; ; ) {
    const { rows, next } = await host.threads({ status, limit: 500, before });
    found += rows.length;
    if (next === null) return found;
    before = next;
  }
}

describe.skipIf(missingServer !== "")(`a cluster handles${missingServer}`, () => {
  test(`${waiting} waiting threads without a worker, and ${answered} concurrent answers`, async () => {
    const notes = join(cluster.folder, "notes");
    writeFileSync(notes, "");
    const workflow = await cluster.put(
      host,
      bundle(`
      if (input.steps.length === 0) yield step("__wait__", "may I?", { for: "leave" });
      const { role, content } = input.steps.at(-1);
      if (role === "heard") return { returnCode: 0, summary: "done" };
      appendFileSync(options.notes, options.threadId + " " + content + "\\n");
      yield step("heard", content);`),
    );
    const refs: ThreadRef[] = [];
    const start = async () =>
      refs.push(await host.start({ workflow, cwd: "/", env: {}, options: { notes } }));
    await forEach([...Array(waiting).keys()], 32, start);
    await rest();
    for (const { child } of cluster.workers) {
      child.kill("SIGKILL");
      await child.exited;
    }
    expect(await count("waiting")).toBe(waiting);
    expect(await invocations()).toBe(0);
    await work();
    expect(await Promise.all(cluster.workers.slice(-2).map(drivenBy))).toEqual([0, 0]);
    const chosen = refs.slice(0, answered);
    const answer = async (ref: ThreadRef) => {
      const input = { content: ref.threadId, meta: { requestId: "1" } };
      const given = () => host.control(ref, { kind: "answer", input, env: {} });
      // An overloaded cluster may lose the reply; a repeated answer gets the same reply.
      let code = await codeOf(given());
      while (code === "NO_WORKER") code = await codeOf(given());
      expect(code).toStartWith("no error");
    };
    await Promise.all(chosen.map(answer));
    await Promise.all(chosen.slice(0, 10).map(answer));
    await rest();
    // An overloaded worker loses threads to another worker, which repeats the role and commits its step once.
    const noted = new Set(readFileSync(notes, "utf8").trim().split("\n"));
    expect(noted).toEqual(new Set(chosen.map(({ threadId }) => `${threadId} ${threadId}`)));
    const wrong: string[] = [];
    await forEach(chosen, 16, async (ref) => {
      const { status, steps } = await host.read(ref);
      const found = `${status}: ${steps.map(({ role }) => role).join()}`;
      if (found !== "completed: __wait__,__input__,heard") wrong.push(found);
    });
    expect(wrong).toEqual([]);
    expect([await count("waiting"), await count("completed")]).toEqual([
      waiting - answered,
      answered,
    ]);
  });

  test("a bundle of 8 MB", async () => {
    const filler = `export const filler = "${"x".repeat(8 * 1024 * 1024 - 1024)}";`;
    const text = `${bundle('yield step("a");')}\n${filler}`;
    const file = join(cluster.folder, "large.esm.js");
    writeFileSync(file, text);
    const { hash } = await host.register("large", file);
    const ref = await host.start({ workflow: "large", cwd: "/", env: {} });
    expect((await settled(host, ref)).status).toBe("completed");
    const other = cluster.open();
    expect((await other.source("large")) === text).toBe(true);
    expect((await other.resolve("large")).hash).toBe(hash);
  });
});
