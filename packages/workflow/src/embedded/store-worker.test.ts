import { afterEach, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { descriptorYaml } from "../bundle/descriptor-yaml.ts";
import { hashOf } from "../bundle/hash.ts";
import { isWorkflowError, WorkflowError } from "../contract/error.ts";
import { hostContract } from "../host/host-contract.ts";
import { asker, bundle, counter, endless } from "../host/host-trial.ts";
import type { Host } from "../host/host.ts";
import { settled } from "../host/rules.ts";
import type { ThreadRef } from "../record/thread.ts";
import { Memory } from "../store/memory.ts";
import { memoryStore } from "../store/memory-store.ts";
import { openStoreHost } from "./store-host.ts";
import { driveStore, type StoreWorker, type StoreWorkerOptions } from "./store-worker.ts";

const folder = mkdtempSync(join(tmpdir(), "store-worker-"));
const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));

const workerEnv = { UNCAGED_OF_CONTRACT: "the worker's" };

function openHost(memory: Memory): Host {
  const host = openStoreHost(memoryStore(memory), { root: "memory", drives: false });
  closing.push(() => host.close());
  return host;
}

async function work(
  memory: Memory,
  options: Partial<StoreWorkerOptions> = {},
): Promise<StoreWorker> {
  const store = memoryStore(memory);
  const cache = mkdtempSync(join(folder, "cache-"));
  const worker = await driveStore(store, { env: workerEnv, cache, ...options });
  closing.push(async () => {
    await worker.close();
    await store.close();
  });
  return worker;
}

async function put(memory: Memory, host: Host, text: string, name?: string): Promise<string> {
  if (name !== undefined) {
    const file = join(mkdtempSync(join(folder, "bundle-")), "bundle.esm.js");
    writeFileSync(file, text);
    return (await host.register(name, file, { sandbox: "off" })).hash;
  }
  const code = new TextEncoder().encode(text);
  const hash = hashOf(code);
  const descriptor = descriptorYaml({ description: "a test", roles: {} });
  await memoryStore(memory).putBundle({ hash, code, descriptor });
  return hash;
}

describe("a host that does not drive threads, with a worker of its store", () => {
  // A role that blocks this process blocks the host as well.
  const rules = hostContract().filter(({ name }) => !name.includes("blocks its worker"));
  for (const { name, check } of rules) {
    test(name, async () => {
      const memory = new Memory();
      const host = openHost(memory);
      await work(memory);
      await check({ host, put: (text, as) => put(memory, host, text, as), workerEnv });
    });
  }
});

/**
 * The workers that ran and aborted the role of `held`, which runs until its signal is aborted or `release` is called.
 */
const [runs, ends] = [[] as string[], [] as string[]];
let release = (): void => undefined;
const held = bundle(`
  const { runs, ends, wait } = globalThis.storeWorkerTest;
  runs.push(options.env.WHO);
  const aborted = new Promise((resolve) => options.signal.addEventListener("abort", resolve));
  void aborted.then(() => ends.push(options.env.WHO));
  await Promise.race([wait(), aborted]);
  yield step("held", options.env.WHO);`);
Object.assign(globalThis, {
  storeWorkerTest: { runs, ends, wait: () => new Promise<void>((resolve) => (release = resolve)) },
});

const until = async (is: () => boolean | Promise<boolean>): Promise<void> => {
  while (!(await is())) await Bun.sleep(5);
};

test("twenty starts with one id make one thread", async () => {
  const memory = new Memory();
  const host = openHost(memory);
  await work(memory);
  const workflow = await put(memory, host, counter);
  const threadId = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
  const started = await Promise.all(
    Array.from({ length: 20 }, () => host.start({ workflow, threadId, cwd: "/", env: {} })),
  );
  expect(new Set(started.map((one) => JSON.stringify(one))).size).toBe(1);
  expect((await settled(host, { hash: workflow, threadId })).steps).toHaveLength(3);
  expect((await host.threads()).rows).toHaveLength(1);
});

test("a kill stops a running role, whose result is not recorded", async () => {
  const memory = new Memory();
  const host = openHost(memory);
  const worker = await work(memory, { env: { WHO: "a" } });
  const workflow = await put(memory, host, held);
  const ref = await host.start({ workflow, cwd: "/", env: {} });
  const [started, ended] = [runs.length, ends.length];
  await until(() => runs.length > started);
  expect(await host.live()).toMatchObject([{ status: "running", pid: process.pid }]);
  expect(await host.workers()).toMatchObject([{ hash: workflow, pid: process.pid }]);
  await host.control(ref, { kind: "kill" });
  await until(() => worker.count === 0);
  expect(ends.length).toBe(ended + 1);
  release();
  expect(await host.read(ref)).toMatchObject({ status: "killed", steps: [] });
});

test("one of twenty concurrent kills ends a thread, and the others fail because it has ended", async () => {
  const memory = new Memory();
  const hosts = [openHost(memory), openHost(memory)];
  const [host] = hosts as [Host];
  await work(memory);
  const ref = await host.start({ workflow: await put(memory, host, endless), cwd: "/", env: {} });
  await until(async () => (await host.live()).length > 0);
  const kills = Array.from({ length: 20 }, (_, n) =>
    (hosts[n % 2] ?? host).control(ref, { kind: "kill" }).then(
      () => "ended",
      (error: unknown) => (isWorkflowError(error) ? error.code : String(error)),
    ),
  );
  const outcomes = (await Promise.all(kills)).toSorted();
  expect(outcomes).toEqual([...Array.from({ length: 19 }, () => "THREAD_ENDED"), "ended"]);
});

test("a role stops when its lease was not renewed, and another worker runs it again", async () => {
  let passed = 0;
  const memory = new Memory({ now: () => Date.now() + passed });
  const host = openHost(memory);
  const leaseMs = 600;
  const first = await work(memory, { env: { WHO: "a" }, leaseMs });
  const workflow = await put(memory, host, held);
  const ref = await host.start({ workflow, cwd: "/", env: {} });
  const [started, ended] = [runs.length, ends.length];
  await until(() => runs.length > started);
  const second = await work(memory, { env: { WHO: "b" } });
  passed += leaseMs;
  await until(() => ends.length > ended);
  await until(() => runs.length > started + 1);
  await until(() => second.count + first.count === 1);
  release();
  expect((await settled(host, ref)).steps).toHaveLength(1);
});

test("a running role is notified at once of a pause and a resume of its thread", async () => {
  const memory = new Memory();
  const host = openHost(memory);
  await work(memory);
  const drains = `run[Symbol.for("uncaged.workflow.drainsOnPause")] = true;`;
  const text = bundle(`
    while (!options.pause.isWanted()) await sleep(2);
    while (options.pause.isWanted()) await sleep(2);
    yield step("resumed");`);
  const workflow = await put(memory, host, `${text}\n${drains}`);
  const ref = await host.start({ workflow, cwd: "/", env: {} });
  await until(async () => (await host.live()).length > 0);
  await host.control(ref, { kind: "pause" });
  expect(await host.read(ref)).toMatchObject({ status: "running", pausing: true });
  await until(async () => (await host.live())[0]?.pausing === true);
  await host.control(ref, { kind: "resume", env: {} });
  expect((await settled(host, ref)).steps).toHaveLength(1);
});

test("lists read the logs of resting threads once for all hosts", async () => {
  const memory = new Memory();
  const host = openHost(memory);
  const worker = await work(memory);
  const hash = await put(memory, host, counter, "count");
  const asks = await put(memory, host, asker);
  const refs: ThreadRef[] = [];
  for (let n = 0; n < 6; n += 1) {
    const workflow = n === 0 ? asks : hash;
    const ref = await host.start({ workflow, prompt: `prompt-${n}-`, cwd: "/", env: {} });
    await settled(host, ref);
    refs.push(ref);
  }
  const [question] = refs as [ThreadRef];
  await until(() => worker.count === 0);
  const kept = () => memory.threads.values().filter(({ entry }) => entry !== null);
  await until(() => [...kept()].length === 6);
  const store = memoryStore(memory);
  let reads = 0;
  const read = store.read.bind(store);
  store.read = (...given) => {
    reads += 1;
    return read(...given);
  };
  const reader = openStoreHost(store, { root: "memory", drives: false });
  closing.push(() => reader.close());
  const ids = async (query: object) =>
    (await reader.threads(query)).rows.map(({ threadId }) => threadId);
  const all = refs.map(({ threadId }) => threadId).toReversed();
  const first = await reader.threads({ limit: 2 });
  expect([first.total, first.next]).toEqual([6, all[1] ?? ""]);
  expect(await ids({ limit: 3, before: all[1] })).toEqual(all.slice(2, 5));
  expect(await ids({ limit: 2, offset: 1 })).toEqual(all.slice(1, 3));
  expect(await ids({ search: "PROMPT-3- count" })).toEqual([all[2] ?? ""]);
  expect(await ids({ status: "waiting" })).toEqual([all[5] ?? ""]);
  expect(await ids({ status: ["completed", "failed"], workflow: "count" })).toEqual(
    all.slice(0, 5),
  );
  expect(await ids({ status: "running" })).toEqual([]);
  expect((await reader.summary()).hours[0]?.runs).toBe(6);
  expect((await reader.history("count"))[0]).toMatchObject({ threads: 5, completed: 5 });
  expect((await reader.find("@last")).threadId).toBe(all[0] ?? "");
  expect(reads).toBe(0);
  // A change beside the log, a damaged entry, and a later record.
  await reader.control(question, { kind: "answer", input: { content: "yes" }, env: {} });
  await settled(reader, question);
  for (const { entry } of kept()) if (entry?.records === 5) entry.json = "{";
  const rows = (await reader.threads()).rows;
  expect(rows.map(({ steps }) => steps)).toEqual([3, 3, 3, 3, 3, 3]);
  expect(rows.every(({ status }) => status === "completed")).toBe(true);
});

test("two workers share threads, and each thread runs once", async () => {
  const memory = new Memory();
  const host = openHost(memory);
  const workflow = await put(
    memory,
    host,
    bundle(`await sleep(20); yield step(options.env.WHO, input.prompt);`),
  );
  const refs = await Promise.all(
    Array.from({ length: 40 }, (_, n) =>
      host.start({ workflow, prompt: String(n), cwd: "/", env: {} }),
    ),
  );
  await Promise.all(["a", "b"].map((WHO) => work(memory, { env: { WHO }, limit: 10 })));
  const views = await Promise.all(refs.map((ref) => settled(host, ref)));
  const by = (who: string) => views.filter(({ steps }) => steps[0]?.role === who).length;
  expect(by("a") + by("b")).toBe(40);
  expect(Math.min(by("a"), by("b"))).toBeGreaterThan(5);
});

test("a drained worker releases its threads between two steps, and another worker continues them", async () => {
  const memory = new Memory();
  const host = openHost(memory);
  const workflow = await put(memory, host, endless);
  const ref = await host.start({ workflow, cwd: "/", env: {} });
  const first = await work(memory);
  await until(async () => (await host.read(ref)).steps.length > 2);
  await first.drain();
  const { steps, status } = await host.read(ref);
  expect([first.count, status, await host.live()]).toEqual([0, "running", []]);
  await work(memory);
  await until(async () => (await host.read(ref)).steps.length > steps.length + 2);
  await host.control(ref, { kind: "kill" });
  const contents = (await host.read(ref)).steps.map(({ content }) => content);
  expect(contents).toEqual(contents.map((_, n) => String(n)));
});

test("a waiting thread is forked with an answer", async () => {
  const memory = new Memory();
  const host = openHost(memory);
  const worker = await work(memory);
  const ref = await host.start({ workflow: await put(memory, host, asker), cwd: "/", env: {} });
  await settled(host, ref);
  await until(() => worker.count === 0);
  const keep = { atStep: 1 };
  const fork = await host.fork(ref, { keep, input: { content: "yes" }, env: {} });
  expect((await settled(host, fork)).steps.at(-1)?.content).toBe("yes");
  expect(await host.read(ref)).toMatchObject({ status: "waiting" });
});

test("a thread whose record the store refused continues soon, although its claim is not released", async () => {
  const memory = new Memory();
  const host = openHost(memory);
  const store = memoryStore(memory);
  const claim = store.claim.bind(store);
  let isBroken = true;
  store.claim = async (...given) => {
    const claimed = await claim(...given);
    if (!claimed || !isBroken) return claimed;
    const refused = async () => {
      isBroken = false;
      throw new WorkflowError({ code: "LOST", kind: "failed", message: "no connection" });
    };
    return { ...claimed, append: refused, release: async () => undefined };
  };
  const lines: string[] = [];
  const cache = mkdtempSync(join(folder, "cache-"));
  const worker = await driveStore(store, { env: {}, cache, report: (line) => lines.push(line) });
  closing.push(() => worker.close());
  const ref = await host.start({ workflow: await put(memory, host, counter), cwd: "/", env: {} });
  expect((await settled(host, ref)).steps).toHaveLength(3);
  expect(lines).toEqual(["the store does not answer: no connection (LOST)"]);
});

test("a thread without its bundle is reported once, and runs when it is resumed with the bundle", async () => {
  const memory = new Memory();
  const host = openHost(memory);
  const lines: string[] = [];
  const workflow = await put(memory, host, counter);
  const ref = await host.start({ workflow, cwd: "/", env: {} });
  const kept = await memoryStore(memory).readBundle(workflow);
  memory.bundles.clear();
  await work(memory, { report: (line) => lines.push(line) });
  await until(async () => (await host.row(ref))?.status === "interrupted");
  expect(lines).toHaveLength(1);
  expect(lines[0]).toStartWith(`${ref.threadId} can't be driven: `);
  if (kept) memory.bundles.set(workflow, kept);
  await host.control(ref, { kind: "resume", env: {} });
  expect((await settled(host, ref)).status).toBe("completed");
});
