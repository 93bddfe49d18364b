import { afterEach, describe, expect, test } from "bun:test";
import { cpSync, renameSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { putBundle } from "../src/bundle/store.ts";
import { rootMark, startedInRoot } from "../src/disk/identity.ts";
import { dataPath, identityPath, type Root } from "../src/disk/paths.ts";
import { openRoot } from "../src/disk/root.ts";
import { DiskStore } from "../src/disk/store.ts";
import { openLocalHost } from "../src/local/host.ts";
import { keepAwake } from "../src/local/workers/keep-awake.ts";
import { killThread, pauseThread, resumeThread } from "../src/local/workers/control.ts";
import { newThreadId } from "../src/local/threads/start.ts";
import type { Recovered } from "../src/host/host.ts";
import type { StartRecord } from "../src/record/record.ts";
import type { ThreadRef } from "../src/record/thread.ts";
import { bundleOf, endless } from "./fixtures/bundles.ts";
import { removeStores, TestStore } from "./fixtures/store.ts";
import { codeOf, until } from "./fixtures/until.ts";

afterEach(removeStores);

/** A workflow whose first step waits for the gate. */
const gated = bundleOf(`
  for (let n = input.steps.length; ; n += 1) {
    if (n === 0) await opened();
    await sleep(5);
    yield step("count", String(n));
  }`);

const recover = (root: Root, env: Record<string, string> = {}, dryRun = false) =>
  openLocalHost({ path: root }).recover({ env, dryRun });

const reasons = async (root: Root, env: Record<string, string> = {}) => {
  const { resumed, left } = await recover(root, env);
  expect(resumed).toEqual([]);
  return left.map(({ reason }) => reason);
};

/** Starts a thread and kills its worker. */
async function interrupted(store = new TestStore(), source: string = endless) {
  const ref = await store.start(await store.add(source));
  await store.whenSteps(ref, 1);
  await store.signalWorkers("SIGKILL");
  return { store, ref, env: store.env };
}

/** Writes a thread without a worker, with a given start record. */
async function written(
  store: TestStore,
  hash: string,
  given: Partial<StartRecord>,
): Promise<ThreadRef> {
  const threadId = await newThreadId();
  const timestamp = given.timestamp ?? Date.now();
  const startedIn = await startedInRoot(store.root, {});
  const parameters = { prompt: "", options: { maxRounds: 1000, cwd: store.folder } };
  const start = { name: hash, hash, threadId, parameters, timestamp, startedIn, ...given };
  const records = [JSON.stringify(start)];
  const state = { kind: "running" } as const;
  await new DiskStore(store.root).create({
    hash,
    threadId,
    name: hash,
    createdAt: timestamp,
    records,
    state,
  });
  return { hash, threadId };
}

describe("a thread whose worker was killed", () => {
  test("is resumed once, by the first of twenty calls and a user's resume", async () => {
    const { store, ref, env } = await interrupted();
    const { steps } = await store.read(ref);
    expect(await recover(store.root, env, true)).toMatchObject({ resumed: [ref], left: [] });
    expect((await store.read(ref)).status).toBe("interrupted");
    const person = codeOf(resumeThread(store.root, ref, { env }));
    const all = await Promise.all(Array.from({ length: 20 }, () => recover(store.root, env)));
    const won = all.flatMap(({ resumed }) => resumed).length;
    expect(won + Number((await person).startsWith("no error"))).toBe(1);
    expect(all.flatMap(({ left }) => left)).toEqual([]);
    await store.whenSteps(ref, steps.length + 2);
    const numbers = (await store.read(ref)).steps.map(({ content }) => Number(content));
    expect(numbers).toEqual(numbers.map((_, n) => n));
    expect(await recover(store.root, env)).toEqual({ resumed: [], left: [] });
    await killThread(store.root, ref);
    expect(await recover(store.root, env)).toEqual({ resumed: [], left: [] });
  });

  test("is resumed by a running server after each loss, unless it is paused", async () => {
    const { store, ref, env } = await interrupted();
    const rest = keepAwake(openLocalHost({ path: store.root }), env, { resume: true });
    try {
      for (let time = 0; time < 3; time += 1) {
        await store.whenStatus(ref, "running");
        await store.whenSteps(ref, (await store.read(ref)).steps.length + 1);
        await store.signalWorkers("SIGKILL");
      }
      await store.whenStatus(ref, "running");
      await pauseThread(store.root, ref);
      await store.whenStatus(ref, "paused");
      await store.signalWorkers("SIGKILL");
      expect(await recover(store.root, env)).toMatchObject({ resumed: [] });
    } finally {
      rest();
    }
    expect((await store.read(ref)).status).toBe("paused");
  });

  test("is resumed three times without a new step, and again after a new step", async () => {
    const store = new TestStore();
    const gate = join(store.folder, "gate");
    const hash = await store.add(gated);
    const options = { maxRounds: 1000, cwd: store.folder, gate };
    const ref = await written(store, hash, { parameters: { prompt: "", options } });
    const lose = async () => await store.signalWorkers("SIGKILL");
    for (let time = 0; time < 3; time += 1) {
      const { resumed } = await recover(store.root);
      expect(resumed).toMatchObject([ref]);
      await lose();
    }
    expect(await reasons(store.root)).toEqual(["it was resumed 3 times without a new step"]);
    await resumeThread(store.root, ref, { env: {} });
    writeFileSync(gate, "");
    await store.whenSteps(ref, 1);
    await lose();
    expect((await recover(store.root)).resumed).toHaveLength(1);
  });
});

test("a loss is found even after another worker took over, and the recovery is reported once", async () => {
  const { store, ref, env } = await interrupted();
  const left = await written(store, ref.hash, { startedIn: undefined });
  const told: Recovered[] = [];
  const onRecovered = (one: Recovered) => void told.push(one);
  const host = openLocalHost({ path: store.root });
  const rest = keepAwake(host, env, { resume: true, onRecovered });
  try {
    await until(() => told.length === 1);
    expect(told).toMatchObject([{ resumed: [ref], left: [left] }]);
    await store.whenStatus(ref, "running");
    await store.signalWorkers("SIGKILL");
    const other = await store.start(ref.hash);
    await store.whenStatus(other, "running");
    await until(() => told.length === 2);
    expect(told[1]).toMatchObject({ resumed: [ref], left: [] });
    await store.whenStatus(ref, "running");
  } finally {
    rest();
  }
});

test("only threads that a user has seen are resumed", async () => {
  const { store, ref, env } = await interrupted();
  const later = await written(store, ref.hash, {});
  const only = [ref.threadId];
  const done = await openLocalHost({ path: store.root }).recover({ env, only });
  expect(done).toMatchObject({ resumed: [ref], left: [] });
  expect((await store.read(later)).status).toBe("interrupted");
});

describe("is left to the user, with the reason:", () => {
  test("a thread that is paused", async () => {
    const { store, ref, env } = await interrupted();
    await resumeThread(store.root, ref, { env });
    await pauseThread(store.root, ref);
    await store.whenStatus(ref, "paused");
    expect(await recover(store.root, env)).toEqual({ resumed: [], left: [] });
    await store.signalWorkers("SIGKILL");
    expect(await reasons(store.root, env)).toEqual(["it is paused"]);
  });

  test("a thread of a copy of the storage root, even in the place of the original", async () => {
    const { store, ref, env } = await interrupted();
    const copied = "another storage root started it, or this one is a copy";
    const backup = openRoot({ path: join(store.folder, "backup") });
    const filter = (path: string) => !path.endsWith(".sock");
    cpSync(store.root, backup, { recursive: true, preserveTimestamps: true, filter });
    expect(await reasons(backup, env)).toEqual([copied]);
    rmSync(store.root, { recursive: true });
    renameSync(backup, store.root);
    expect(await reasons(store.root, env)).toEqual([copied]);
    expect((await store.read(ref)).status).toBe("interrupted");
  });

  test("a thread of another storage root, and a thread without a recorded storage root", async () => {
    const store = new TestStore();
    const hash = await store.add(endless);
    await written(store, hash, { startedIn: { root: "f".repeat(32), env: [] } });
    await written(store, hash, { startedIn: undefined });
    expect((await reasons(store.root)).sort()).toEqual([
      "an earlier version started it",
      "another storage root started it, or this one is a copy",
    ]);
    await written(store, hash, {});
    rmSync(identityPath(store.root));
    expect(rootMark(store.root)).toBeNull();
    expect((await recover(store.root)).resumed).toEqual([]);
  });

  test("a thread whose last record is a day old", async () => {
    const store = new TestStore();
    await written(store, await store.add(endless), { timestamp: Date.now() - 86_400_000 });
    expect(await reasons(store.root)).toEqual(["its last record is older than 24 hours"]);
  });

  test.each([true, false])(
    "a thread whose log was restored from a copy, with its times: %p",
    async (kept) => {
      const store = new TestStore();
      const timestamp = Date.now() - 3_600_000;
      const ref = await written(store, await store.add(endless), { timestamp });
      const path = dataPath(store.root, ref.hash, ref.threadId);
      if (kept) utimesSync(path, new Date(timestamp), new Date(timestamp));
      const backup = join(store.folder, "backup");
      cpSync(path, backup, { preserveTimestamps: true });
      rmSync(path);
      cpSync(backup, path, { preserveTimestamps: kept });
      expect((await recover(store.root, {}, true)).resumed).toEqual([]);
      expect(await reasons(store.root)).toEqual(["its log was restored from a copy"]);
      expect((await store.read(ref)).status).toBe("interrupted");
    },
  );

  test("a thread whose environment is missing, with only the variable names", async () => {
    const store = new TestStore();
    const env = { API_KEY: "s3cret", TERM: "xterm", PWD: "/" };
    const hash = await store.add(endless);
    const ref = await store.start(hash, "", { env });
    await store.whenSteps(ref, 1);
    await store.signalWorkers("SIGKILL");
    expect(await reasons(store.root, { OTHER: "1" })).toEqual([
      "missing environment variables: API_KEY",
    ]);
    const [start] = store.lines(ref) as unknown as [StartRecord];
    expect(start.startedIn?.env).toEqual(["API_KEY"]);
    expect(JSON.stringify(store.lines(ref))).not.toContain("s3cret");
    expect((await recover(store.root, { API_KEY: "another" })).resumed).toMatchObject([ref]);
  });

  test("an agent graph", async () => {
    const store = new TestStore();
    const roles = "descriptor = {";
    const source = endless.replace(roles, `${roles} agentGraph: { document: null },`);
    const descriptor = { description: "a graph", roles: {}, agentGraph: { document: null } };
    const hash = await putBundle(store.root, new TextEncoder().encode(source), { descriptor });
    await written(store, hash, {});
    expect(await reasons(store.root)).toEqual(["agent graphs are not resumed automatically"]);
  });
});

test("the worker decides: a pause between the list and the resume stays in effect", async () => {
  const { store, ref, env } = await interrupted();
  await resumeThread(store.root, ref, { env });
  await pauseThread(store.root, ref);
  await store.signalWorkers("SIGKILL");
  const { askAgain } = await import("../src/local/workers/worker-client.ts");
  const request = {
    method: "POST",
    path: `/threads/${ref.threadId}/recover`,
    body: { env },
  } as const;
  expect(await codeOf(askAgain(store.root, ref.hash, request))).toBe("NOT_RECOVERED");
  expect((await store.read(ref)).status).toBe("paused");
  await until(() => store.workers().length <= 1);
});
