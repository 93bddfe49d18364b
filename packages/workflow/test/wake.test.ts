import { afterEach, describe, expect, test } from "bun:test";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { killThread, removeThread, resumeThread } from "../src/local/workers/control.ts";
import { listLive } from "../src/local/workers/live.ts";
import { forkThread } from "../src/local/threads/start.ts";
import { verifyStore } from "../src/local/upkeep/verify.ts";
import { wakeThreads } from "../src/local/workers/wake.ts";
import { addDue, listDue, nextDue, removeDue } from "../src/disk/due.ts";
import { bundlePath, dueDir } from "../src/disk/paths.ts";
import { asker, bundleOf, endless } from "./fixtures/bundles.ts";
import { elapse } from "./fixtures/elapsed.ts";
import { removeStores, TestStore } from "./fixtures/store.ts";
import { codeOf, messageOf, until } from "./fixtures/until.ts";

afterEach(removeStores);

const day = 86_400_000;

/** A thread that sleeps or waits for a day, without a worker. */
async function asleep(wait: Record<string, unknown> = { sleep: true }) {
  const store = new TestStore();
  const expiresAt = Date.now() + day;
  const options = { wait: { ...wait, expiresAt } };
  const ref = await store.start(await store.add(asker), "", { options });
  await until(() => store.roles(ref).includes("__wait__"));
  await store.signalWorkers("SIGKILL");
  const wake = () => wakeThreads(store.root, { env: {} });
  const due = () => listDue(store.root, Number.POSITIVE_INFINITY);
  return { store, ref, expiresAt, wake, due };
}

describe("a thread that sleeps, and whose worker was killed", () => {
  test("is woken once when it is due, by twenty concurrent callers", async () => {
    const { store, ref, expiresAt, wake, due } = await asleep();
    expect(await wake()).toEqual({ woken: [], failed: [], next: expiresAt });
    elapse(store.root, ref);
    const all = await Promise.all(Array.from({ length: 20 }, wake));
    expect(all.flatMap(({ woken }) => woken)).toEqual([ref]);
    expect(all.flatMap(({ failed }) => failed)).toEqual([]);
    const { steps } = await store.whenStatus(ref, "completed");
    expect(steps.map(({ role }) => role)).toEqual(["__wait__", "__input__", "heard"]);
    expect(steps[1]?.meta).toEqual({ for: "leave", timedOut: true, sleep: true });
    expect(due()).toEqual([]);
    expect(await wake()).toEqual({ woken: [], failed: [], next: null });
  });

  test("can be neither answered nor resumed", async () => {
    const { store, ref } = await asleep();
    const env = {};
    const answer = () => resumeThread(store.root, ref, { env, input: { content: "yes" } });
    for (const act of [answer, () => resumeThread(store.root, ref, { env }), answer]) {
      expect(await codeOf(act())).toBe("SLEEPING");
    }
    expect(await messageOf(answer())).toMatch(
      /is sleeping until 20\S+Z: it is not waiting for an answer$/,
    );
    expect(store.roles(ref)).toEqual([undefined, "__wait__"]);
    const [live] = await listLive(store.root);
    expect(live).toMatchObject({ status: "waiting", sleepingUntil: expect.any(Number) });
  });

  test("is no longer due after it was killed or removed", async () => {
    const { store, ref, due } = await asleep();
    const forked = await forkThread(store.root, ref, { env: {}, keep: { atStep: 1 } });
    await store.signalWorkers("SIGKILL");
    expect(due().map(({ threadId }) => threadId)).toContainEqual(forked.threadId);
    await killThread(store.root, ref);
    await removeThread(store.root, forked, { force: true });
    expect(due()).toEqual([]);
    expect(nextDue(store.root)).toBeNull();
  });

  test("keeps the end of its sleep in a fork", async () => {
    const { store, ref, due, expiresAt } = await asleep();
    const forked = await forkThread(store.root, ref, { env: {}, keep: { atStep: 1 } });
    expect(await store.read(forked)).toMatchObject({ status: "waiting" });
    expect(due()).toHaveLength(2);
    expect(due().map(({ at }) => at)).toEqual([expiresAt, expiresAt]);
  });
});

describe("a due entry", () => {
  test("is rebuilt from the logs when its folder is missing", async () => {
    const { store, ref, wake, due, expiresAt } = await asleep();
    rmSync(dueDir(store.root), { recursive: true });
    expect(await wake()).toEqual({ woken: [], failed: [], next: expiresAt });
    expect(due()).toEqual([{ ...ref, at: expiresAt }]);
  });

  test("is ignored if the log contradicts it", async () => {
    const { store, ref, wake, due, expiresAt } = await asleep();
    const other = { hash: ref.hash, threadId: "01ARZ3NDEKTSV4RRFFQ69G5FAV" };
    const running = await store.start(await store.add(endless));
    await store.whenSteps(running, 1);
    await store.signalWorkers("SIGKILL");
    for (const one of [ref, other, running]) addDue(store.root, { ...one, at: 5 });
    expect(await wake()).toEqual({ woken: [], failed: [], next: expiresAt });
    expect(due()).toEqual([{ ...ref, at: expiresAt }]);
    expect((await store.read(running)).status).toBe("interrupted");
  });

  test("is retried in a minute after a failed wake", async () => {
    const { store, ref, wake, due } = await asleep();
    rmSync(bundlePath(store.root, ref.hash));
    addDue(store.root, { ...ref, at: 5 });
    const { woken, failed, next } = await wake();
    expect(woken).toEqual([]);
    expect(failed).toMatchObject([{ ...ref, error: { kind: expect.any(String) } }]);
    expect(next).toBeGreaterThan(Date.now());
    expect(next).toBeLessThanOrEqual(Date.now() + 60_000);
    expect(due()).toHaveLength(2);
  });
});

test("threads are woken with their projects' .env files, and not at all when one is invalid", async () => {
  const store = new TestStore();
  const reader = bundleOf(`
    const sleeps = { for: "x", sleep: true, expiresAt: options.expiresAt };
    if (input.steps.length === 0) yield step("__wait__", "", sleeps);
    yield step("reader", env.GREETING);
  `);
  const hash = await store.add(reader);
  const startIn = async (name: string) => {
    const cwd = join(store.folder, name);
    mkdirSync(cwd, { recursive: true });
    writeFileSync(join(cwd, "uncaged.json"), "{}");
    return await store.start(hash, "", { cwd, options: { expiresAt: Date.now() + day } });
  };
  const [good, bad] = [await startIn("good"), await startIn("bad")];
  await until(() => [good, bad].every((ref) => store.roles(ref).includes("__wait__")));
  await store.signalWorkers("SIGKILL");
  for (const ref of [good, bad]) elapse(store.root, ref);
  writeFileSync(join(store.folder, "good/.env"), "GREETING=hello there");
  writeFileSync(join(store.folder, "bad/.env"), "hello");
  expect(await wakeThreads(store.root, { env: {} })).toMatchObject({
    woken: [good],
    failed: [{ ...bad, error: { code: "ENV_FILE_INVALID" } }],
  });
  expect((await store.whenStatus(good, "completed")).steps.at(-1)?.content).toBe("hello there");
  expect(store.roles(bad)).toEqual([undefined, "__wait__"]);
});

test("verify checks the due entries and reports a thread without an entry", async () => {
  const { store, ref, wake, due } = await asleep();
  await wake();
  expect((await verifyStore(store.root)).problems).toEqual([]);
  for (const one of due()) removeDue(store.root, one);
  expect((await verifyStore(store.root)).problems).toMatchObject([
    {
      path: expect.stringContaining(ref.threadId),
      message: expect.stringContaining("lacks an entry that wakes it"),
    },
  ]);
  rmSync(dueDir(store.root), { recursive: true });
  await wake();
  expect((await verifyStore(store.root)).problems).toEqual([]);
});
