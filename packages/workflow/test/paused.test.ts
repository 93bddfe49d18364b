import { afterEach, describe, expect, test } from "bun:test";
import { openLocalHost } from "../src/local/host.ts";
import { killThread, pauseThread, resumeThread } from "../src/local/workers/control.ts";
import { listThreads } from "../src/local/threads/list.ts";
import { wakeThreads } from "../src/local/workers/wake.ts";
import { isAnythingDue } from "../src/disk/due.ts";
import { listLive } from "../src/local/workers/live.ts";
import { pausedPath } from "../src/disk/paths.ts";
import { existsSync } from "node:fs";
import { asker, endless } from "./fixtures/bundles.ts";
import { removeStores, TestStore } from "./fixtures/store.ts";
import { codeOf, until } from "./fixtures/until.ts";

afterEach(removeStores);

async function paused() {
  const store = new TestStore();
  const ref = await store.start(await store.add(endless));
  await store.whenSteps(ref, 1);
  await pauseThread(store.root, ref);
  await store.whenStatus(ref, "paused");
  return { store, ref };
}

describe("a paused thread whose worker was killed", () => {
  test("is paused for every reader, and is resumed", async () => {
    const { store, ref } = await paused();
    await store.signalWorkers("SIGKILL");
    const host = openLocalHost({ path: store.root });
    expect(await store.read(ref)).toMatchObject({ status: "paused", pid: null });
    expect((await host.row(ref))?.status).toBe("paused");
    for (const status of ["paused", ["paused", "failed"]] as const) {
      const { rows } = await listThreads(store.root, { status: [status].flat() });
      expect(rows.map(({ threadId }) => threadId)).toEqual([ref.threadId]);
    }
    expect((await listThreads(store.root, { status: "interrupted" })).rows).toEqual([]);
    for await (const item of host.observe(ref)) {
      if (item.kind !== "status") continue;
      expect(item.state).toEqual({ status: "paused", pid: null });
      break;
    }
    const { steps } = await store.read(ref);
    await pauseThread(store.root, ref);
    await resumeThread(store.root, ref, { env: {} });
    await store.whenSteps(ref, steps.length + 1);
    await store.signalWorkers("SIGKILL");
    expect((await store.read(ref)).status).toBe("interrupted");
  });

  test("is reported to followers of changes as soon as it is resumed or killed", async () => {
    const { store, ref } = await paused();
    await store.signalWorkers("SIGKILL");
    const host = openLocalHost({ path: store.root });
    const stop = new AbortController();
    const seen: string[] = [];
    for await (const change of host.changes(stop.signal)) {
      if (change.kind === "ready") await resumeThread(store.root, ref, { env: {} });
      if (change.kind !== "thread") continue;
      seen.push(change.row.status);
      if (change.row.status === "running") await killThread(store.root, ref);
      if (change.row.status === "killed") stop.abort();
    }
    expect(seen[0]).toBe("running");
    expect(await codeOf(pauseThread(store.root, ref))).toBe("THREAD_ENDED");
  });
});

test("a pause that a killed worker had not reached stays in effect", async () => {
  const store = new TestStore();
  const ref = await store.start(await store.add(asker), "", { options: { ms: 60_000 } });
  await until(() => store.workers().length === 1);
  await pauseThread(store.root, ref);
  await store.signalWorkers("SIGKILL");
  const { status } = await store.read(ref);
  expect(["paused", "waiting"]).toContain(status);
  expect(existsSync(pausedPath(store.root, ref.hash, ref.threadId))).toBe(true);
});

test("a thread paused while asleep does not wake before it is resumed", async () => {
  const store = new TestStore();
  const expiresAt = Date.now() + 1_000;
  const options = { wait: { sleep: true, expiresAt } };
  const ref = await store.start(await store.add(asker), "", { options });
  await until(() => store.roles(ref).includes("__wait__"));
  await pauseThread(store.root, ref);
  for (const live of await listLive(store.root)) {
    expect([live.status, live.sleepingUntil]).toEqual(["paused", undefined]);
  }
  await store.signalWorkers("SIGKILL");
  await until(() => Date.now() > expiresAt);
  if (store.roles(ref).at(-1) === "__wait__") {
    expect((await store.read(ref)).status).toBe("paused");
    expect(isAnythingDue(store.root)).toBe(false);
    expect(await wakeThreads(store.root, { env: {} })).toMatchObject({ woken: [], next: null });
    expect(store.workers()).toEqual([]);
  }
  await resumeThread(store.root, ref, { env: {} });
  await wakeThreads(store.root, { env: {} });
  await store.whenStatus(ref, "completed");
});

test("a thread that sleeps without a worker can be paused, and continues to sleep when it is resumed", async () => {
  const store = new TestStore();
  const expiresAt = Date.now() + 86_400_000;
  const options = { wait: { sleep: true, expiresAt } };
  const ref = await store.start(await store.add(asker), "", { options });
  await until(() => store.roles(ref).includes("__wait__"));
  await store.signalWorkers("SIGKILL");
  await pauseThread(store.root, ref);
  expect((await store.read(ref)).status).toBe("paused");
  await resumeThread(store.root, ref, { env: {} });
  expect((await store.read(ref)).status).toBe("waiting");
  expect(await wakeThreads(store.root, { env: {} })).toMatchObject({ next: expiresAt });
});

test("an interrupted or asking thread can't be paused", async () => {
  const store = new TestStore();
  const [lost, asks] = [
    await store.start(await store.add(endless)),
    await store.start(await store.add(asker)),
  ];
  await store.whenSteps(lost, 1);
  await until(() => store.roles(asks).includes("__wait__"));
  await store.signalWorkers("SIGKILL");
  for (const ref of [lost, asks]) {
    expect(await codeOf(pauseThread(store.root, ref))).toBe("NOT_RUNNING");
  }
});
