import { afterEach, describe, expect, test } from "bun:test";
import { appendFileSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import type { Observed } from "../src/host/host.ts";
import { follow, settled } from "../src/host/rules.ts";
import { killThread, resumeThread } from "../src/local/workers/control.ts";
import { listThreads } from "../src/local/threads/list.ts";
import { listLive } from "../src/local/workers/live.ts";
import { openLocalHost } from "../src/local/host.ts";
import { spawnWorker } from "../src/local/workers/worker-client.ts";
import { dataPath, runDir, socketName, workerInfoPath } from "../src/disk/paths.ts";
import { realSystem } from "../src/system/real.ts";
import { readWorkerInfo } from "../src/worker/worker-info.ts";
import { asker, bundleOf, counter, endless } from "./fixtures/bundles.ts";
import { removeStores, TestStore } from "./fixtures/store.ts";
import { codeOf, messageOf, until } from "./fixtures/until.ts";

afterEach(removeStores);

async function running() {
  const store = new TestStore();
  const ref = await store.start(await store.add(endless), "", { maxRounds: 100_000 });
  await store.whenSteps(ref, 1);
  return { store, ref, path: dataPath(store.root, ref.hash, ref.threadId) };
}

test("a worker that ends while a thread is started leaves the start to the next worker", async () => {
  const store = new TestStore();
  const hash = await store.add(counter);
  const path = join(runDir(store.root), socketName(hash));
  mkdirSync(runDir(store.root), { recursive: true, mode: 0o700 });
  let taken = 0;
  const ending = createServer((connection) => {
    taken += 1;
    ending.close();
    rmSync(path, { force: true });
    connection.destroy();
  });
  await new Promise<void>((listening) => ending.listen(path, listening));
  const ref = await store.start(hash);
  await store.whenStatus(ref, "completed");
  expect(taken).toBe(1);
  expect((await listThreads(store.root)).rows).toHaveLength(1);
});

describe("a worker that is killed", () => {
  test("ends the streams of its followers and the waits of its clients", async () => {
    const { store, ref } = await running();
    const items: Observed[] = [];
    const following = (async () => {
      for await (const item of follow(openLocalHost({ path: store.root }), ref)) items.push(item);
    })();
    const waiting = settled(openLocalHost({ path: store.root }), ref);
    await until(() => items.length > 2);
    await store.signalWorkers("SIGKILL");
    await following;
    expect(items.at(-1)).toMatchObject({ kind: "status", state: { status: "interrupted" } });
    expect((await waiting).status).toBe("interrupted");
    const numbers = items.flatMap((item) => (item.kind === "step" ? [item.number] : []));
    expect(numbers).toEqual(numbers.map((_, n) => n + 1));
    expect(numbers).toHaveLength(store.lines(ref).length - 1);
  });

  test("by SIGTERM runs the finally of its threads, which can be resumed", async () => {
    const store = new TestStore();
    const hash = await store.add(
      bundleOf('try { await aborted; } finally { console.log("cleaned up"); }'),
    );
    const ref = await store.start(hash);
    await until(async () => (await listLive(store.root)).length === 1);
    await store.signalWorkers("SIGTERM");
    await until(() => store.workers().length === 0);
    expect(store.notes(ref)).toContain("cleaned up");
    expect(store.roles(ref)).toEqual([undefined]);
    expect((await store.read(ref)).status).toBe("interrupted");
  });
});

describe("a log that a worker takes over", () => {
  test("keeps its file when the previous worker exited normally", async () => {
    const store = new TestStore();
    const ref = await store.start(await store.add(asker));
    const path = dataPath(store.root, ref.hash, ref.threadId);
    await until(() => store.roles(ref).at(-1) === "__wait__");
    await until(() => store.workers().length === 0);
    const { ino } = statSync(path);
    await resumeThread(store.root, ref, { env: {}, input: { content: "yes" } });
    await store.whenStatus(ref, "completed");
    expect(statSync(path).ino).toBe(ino);
  });
});

describe("a broken log", () => {
  test("is corrupt with its line, refused by resume and kill, and does not break lists", async () => {
    const { store, ref, path } = await running();
    await store.whenSteps(ref, 3);
    await store.signalWorkers("SIGKILL");
    const lines = readFileSync(path, "utf8").split("\n");
    lines[2] = (lines[2] as string).replace("{", "[");
    writeFileSync(path, lines.join("\n"));
    const bytes = readFileSync(path, "utf8");
    const other = await store.start(await store.add(counter));
    expect((await store.read(ref)).steps).toHaveLength(1);
    expect((await listThreads(store.root)).rows.map(({ status }) => status)).toContain("corrupt");
    expect((await listThreads(store.root)).rows).toHaveLength(2);
    const refused = resumeThread(store.root, ref, { env: {} });
    expect(await messageOf(refused)).toContain(`${path}:3: the line is not UTF-8 JSON`);
    expect(await codeOf(killThread(store.root, ref))).toBe("LOG_CORRUPT");
    expect(readFileSync(path, "utf8")).toBe(bytes);
    await store.whenStatus(other, "completed");
  });
});

describe("a foreign write to a live log (F9)", () => {
  test("makes the writer stop without another record", async () => {
    const { store, ref, path } = await running();
    const foreign = `${JSON.stringify({ role: "foreign", content: "", meta: {}, timestamp: 1 })}\n`;
    appendFileSync(path, foreign);
    await until(() => store.notes(ref).includes("another process wrote to"));
    await store.whenStatus(ref, "corrupt");
    // The writer may end its line after the foreign text.
    expect(readFileSync(path, "utf8").trimEnd()).toEndWith(foreign.trimEnd());
    await until(() => store.notes(ref).includes("aborted: "));
  });
});

describe("a frozen worker (F9)", () => {
  test("is ended by kill --force, and never appends after it is continued", async () => {
    const { store, ref, path } = await running();
    const [worker] = store.workers();
    await store.signalWorkers("SIGSTOP");
    const killed = await killThread(store.root, ref, { force: true });
    expect(killed.threadId).toBe(ref.threadId);
    const bytes = readFileSync(path, "utf8");
    try {
      process.kill(worker?.pid ?? 0, "SIGCONT");
    } catch {
      // The process no longer exists, as expected.
    }
    expect(realSystem.processes.identify(worker?.pid ?? 0)?.startTime).not.toBe(
      worker?.startTime as string,
    );
    expect(readFileSync(path, "utf8")).toBe(bytes);
    expect(store.lines(ref).filter(({ role }) => role === "__end__")).toHaveLength(1);
  }, 180_000);

  test("that has not driven a thread yet is ended by kill --force, together with the thread", async () => {
    const { store, ref } = await running();
    await store.signalWorkers("SIGKILL");
    const child = spawnWorker(store.root, ref.hash);
    await until(() => store.workers().length === 1);
    await store.signalWorkers("SIGSTOP");
    expect(await killThread(store.root, ref, { force: true })).toMatchObject({ resumed: [] });
    expect(store.lines(ref).at(-1)).toMatchObject({ role: "__end__", meta: { reason: "killed" } });
    await until(() => child.signalCode !== null);
  }, 180_000);

  test("whose pid now belongs to another process is not signalled (F10)", async () => {
    const { store, ref } = await running();
    await store.signalWorkers("SIGSTOP");
    const path = workerInfoPath(store.root, ref.hash);
    const holder = readWorkerInfo(path);
    const bystander = Bun.spawn(["sleep", "1000"]);
    const text = readFileSync(path, "utf8");
    const stale = { ...holder?.identity, pid: bystander.pid };
    writeFileSync(path, `${JSON.stringify(stale)}\n+${ref.threadId}\n`);
    expect(await codeOf(killThread(store.root, ref, { force: true }))).toBe("WORKER_OUT_OF_SIGHT");
    expect(bystander.exitCode ?? bystander.signalCode).toBeNull();
    bystander.kill();
    writeFileSync(path, text);
    await store.signalWorkers("SIGCONT");
  }, 180_000);
});
