// @cluster: it starts a server, with many threads and large ones.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { retryOptions, settled, type ThreadRef } from "@uncaged/workflow/host";
import { codeOf } from "../../workflow/test/fixtures/until.ts";
import { ClusterClient } from "../src/client/client.ts";
import type { RestateHost } from "../src/index.ts";
import { TestCluster, type WorkerProcess } from "./fixtures/cluster.ts";
import { missingServer } from "./fixtures/server.ts";

/*
 * How many threads wait, how many of them are answered at once, and how many steps one has. In full:
 * SCALE=10000,1000,10000 bun test --timeout=3600000 ./packages/workflow-restate/test/scale.nightly.test.ts
 */
const usual = process.env.TEST_CASES === "all" ? "600,150,1000" : "150,50,300";
const { SCALE = usual } = process.env;
const [waiting = 0, answered = 0, stepCount = 0] = SCALE.split(",").map(Number);
/** How long things took, in milliseconds, where somebody has asked for other numbers. */
const times: Record<string, number> = {};

async function timed<T>(name: string, act: () => Promise<T>): Promise<T> {
  const from = performance.now();
  const result = await act();
  times[name] = Math.round(performance.now() - from);
  return result;
}

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
  if (SCALE !== usual) console.error(times);
  if (missingServer === "") await cluster.stop();
});

/** Has two workers behind the address. */
async function work(): Promise<void> {
  for (let n = 0; n < 2; n += 1) await cluster.work({ register: false });
  cluster.use(cluster.workers.slice(-2));
}

const bundle = (body: string, more = ""): string => `import { appendFileSync } from "node:fs";
export const descriptor = { description: "of a test", roles: {} };
${more}
export async function* run(input, options) {
  const step = (role, content = role, meta = {}) => ({ role, content, meta });
  ${body}
  return { returnCode: 0, summary: "done" };
}`;

/** Does something with each of many, so many at once. */
async function forEach<T>(all: readonly T[], atOnce: number, act: (one: T) => Promise<unknown>) {
  const left = [...all];
  const next = async () => {
    for (let one = left.pop(); one !== undefined; one = left.pop()) await act(one);
  };
  await Promise.all(Array.from({ length: atOnce }, next));
}

/** What a cluster does, or is yet to do. */
const invocations = async (): Promise<number> =>
  (await client.query<{ count: number }>("SELECT count(*) AS count FROM sys_invocation"))[0]
    ?.count ?? 0;

/** Waits until a cluster has nothing more to do. */
async function rest(): Promise<void> {
  while ((await invocations()) > 0) await Bun.sleep(50);
}

/** How many threads a worker drives. */
async function drivenBy({ health }: WorkerProcess): Promise<number> {
  const response = await fetch(`http://127.0.0.1:${health}/health`);
  return ((await response.json()) as { threads: number }).threads;
}

/** How many threads have a status, however many there are. */
async function count(status: "waiting" | "completed"): Promise<number> {
  let found = 0;
  for (let before: string | undefined; ; ) {
    const { rows, next } = await host.threads({ status, limit: 500, before });
    found += rows.length;
    if (next === null) return found;
    before = next;
  }
}

describe.skipIf(missingServer !== "")(`a cluster takes${missingServer}`, () => {
  test(`${waiting} threads that wait, which take no worker, and ${answered} answers at once`, async () => {
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
    await timed("starts", () => forEach([...Array(waiting).keys()], 32, start));
    await timed("until all rest", rest);
    for (const { child } of cluster.workers) {
      child.kill("SIGKILL");
      await child.exited;
    }
    expect(await timed("list of all", () => count("waiting"))).toBe(waiting);
    expect(await invocations()).toBe(0);
    await work();
    expect(await Promise.all(cluster.workers.slice(-2).map(drivenBy))).toEqual([0, 0]);
    const chosen = refs.slice(0, answered);
    const answer = async (ref: ThreadRef) => {
      const input = { content: ref.threadId, meta: { requestId: "1" } };
      const given = () => host.control(ref, { kind: "answer", input, env: {} });
      // A cluster with more to do than it can in time: who asks again is answered as before.
      let code = await codeOf(given());
      while (code === "NO_WORKER") code = await codeOf(given());
      expect(code).toStartWith("no error");
    };
    await timed("answers", () => Promise.all(chosen.map(answer)));
    await Promise.all(chosen.slice(0, 10).map(answer));
    await timed("until the answered end", rest);
    // A worker with more to do than it can in time loses threads to another, which makes its role again, and its step once.
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
    const text = bundle('yield step("a");', filler);
    const file = join(cluster.folder, "large.esm.js");
    writeFileSync(file, text);
    const { hash } = await host.register("large", file);
    const ref = await host.start({ workflow: "large", cwd: "/", env: {} });
    expect((await settled(host, ref)).status).toBe("completed");
    const other = cluster.open();
    expect((await other.source("large")) === text).toBe(true);
    expect((await other.resolve("large")).hash).toBe(hash);
  });

  test(`a thread of ${stepCount} steps, which is read, followed, retried and forked`, async () => {
    const workflow = await cluster.put(
      host,
      bundle(`
      for (let n = input.steps.length; n < options.count; n += 1) yield step("count", String(n), { n });
      if (!options.passes) throw new TypeError("it does not pass");`),
    );
    const options = { count: stepCount };
    const maxRounds = stepCount + 10;
    const ref = await host.start({ workflow, cwd: "/", env: {}, options, maxRounds });
    const source = await timed("run of the steps", () => settled(host, ref));
    const wanted = Array.from({ length: stepCount }, (_, n) => String(n));
    expect(source.status).toBe("failed");
    const reader = cluster.open();
    const view = await timed("read of the steps", () => reader.read(ref));
    expect(view.steps.map(({ content }) => content)).toEqual(wanted);
    const seen = await timed("follow of the steps", async () => {
      const contents: string[] = [];
      for await (const item of cluster.open().observe(ref)) {
        if (item.kind === "step") contents.push(item.step.content);
      }
      return contents;
    });
    expect(seen).toEqual(wanted);
    const passes = { options: { ...options, passes: true } };
    const again = await timed("retry with all steps", async () => {
      const fork = await host.fork(ref, retryOptions(source, { ...passes, env: {} }));
      return await settled(host, fork);
    });
    expect([again.status, again.steps.length]).toEqual(["completed", stepCount]);
    const back = stepCount - 100;
    const fork = await timed("fork with most steps", async () => {
      const edit = { content: "edited" };
      const given = { options: { ...passes.options }, env: {} };
      return await settled(
        host,
        await host.fork(again, { keep: { atStep: back }, edit, ...given }),
      );
    });
    expect(fork.steps.map(({ content }) => content)).toEqual(wanted.with(back - 1, "edited"));
  });
});
