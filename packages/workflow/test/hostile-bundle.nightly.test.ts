import { afterEach, describe, expect, test } from "bun:test";
import { killThread } from "../src/local/workers/control.ts";
import { listWorkers } from "../src/local/workers/live.ts";
import { allThreads } from "../src/local/threads/view.ts";
import { bundlePath } from "../src/disk/paths.ts";
import { blocking, bundleOf } from "./fixtures/bundles.ts";
import { useImpatientSockets } from "./fixtures/impatient.ts";
import { removeStores, TestStore } from "./fixtures/store.ts";
import { codeOf, until } from "./fixtures/until.ts";

afterEach(removeStores);

/** A counting workflow that runs `evil` if the prompt is `evil`. */
const besides = (evil: string) =>
  bundleOf(`
    if (input.steps.length === 0) yield step("begin");
    if (input.prompt === "evil" && input.steps.length === 0) { ${evil} }
    for (let n = Math.max(0, input.steps.length - 1); n < 60; n += 1) { await sleep(10); yield step("count", String(n)); }
  `);

describe("a bundle that misbehaves fails its own thread and no other (F20)", () => {
  const evils: [string, string, string][] = [
    ["throws", 'throw new Error("on purpose");', "on purpose"],
    ["calls process.exit", "process.exit(3);", "process.exit(3)"],
    [
      "calls process.exit and catches it",
      "try { process.exit(3); } catch {} await sleep(1e6);",
      "process.exit(3)",
    ],
    [
      "calls process.exit in a timer",
      "setTimeout(() => process.exit(3)); await sleep(1e6);",
      "process.exit(3)",
    ],
    [
      "throws in a timer",
      'setTimeout(() => { throw new Error("in a timer"); }, 5); await sleep(1e6);',
      "in a timer",
    ],
    [
      "throws in a callback of Node",
      'process.nextTick(() => { throw new Error("in a tick"); }); await sleep(1e6);',
      "in a tick",
    ],
    ["yields a record of 65 MiB", 'yield step("a", "x".repeat(65 << 20));', "longer than 64 Mi"],
    [
      "yields a record of 40 Mi characters of three bytes",
      'yield step("a", "漢".repeat(40 << 20));',
      "too large",
    ],
    ["returns an invalid result", "return 1;", "the result is"],
  ];
  for (const [what, evil, message] of evils) {
    test(what, async () => {
      const store = new TestStore();
      const hash = await store.add(besides(evil));
      const good = await store.start(hash, "good");
      const bad = await store.start(hash, "evil");
      const { result } = await store.whenStatus(bad, "failed");
      expect(result?.summary).toContain(message);
      expect(store.roles(bad).slice(0, 2)).toEqual([undefined, "begin"]);
      expect(store.roles(bad)).toHaveLength(3);
      expect((await store.read(good)).status).toBe("running");
      await store.whenStatus(good, "completed");
      expect(store.notes(good).match(/"type":"worker_start"/g)).toHaveLength(1);
    });
  }

  test("fails the only running thread for an unhandled rejection", async () => {
    const store = new TestStore();
    const ref = await store.start(
      await store.add(besides('void Promise.reject(new Error("unhandled")); await sleep(1e6);')),
      "evil",
    );
    expect((await store.whenStatus(ref, "failed")).result?.summary).toBe("unhandled");
  });

  test("does not fail a thread for a rejection of unknown origin, and logs it", async () => {
    const store = new TestStore();
    const hash = await store.add(besides('void Promise.reject(new Error("unhandled"));'));
    const good = await store.start(hash, "good");
    const bad = await store.start(hash, "evil");
    await store.whenStatus(good, "completed");
    await store.whenStatus(bad, "completed");
    expect(store.notes(bad)).toContain("unhandled");
  });

  test("does not fail a thread for the late rejection of an ended thread", async () => {
    const store = new TestStore();
    const hash = await store.add(
      besides('setTimeout(() => void Promise.reject(new Error("late")), 300); return done;'),
    );
    const bad = await store.start(hash, "evil");
    await store.whenStatus(bad, "completed");
    const good = await store.start(hash, "good");
    await store.whenStatus(good, "completed", "failed");
    expect((await store.read(good)).result?.summary).toBe("done");
  });
});

describe("a bundle that blocks its worker", () => {
  test("is ended by kill --force, and its other threads continue from their last step", async () => {
    const store = new TestStore();
    const hash = await store.add(besides("await sleep(50); for (;;);"));
    const good = await store.start(hash, "good");
    const bad = await store.start(hash, "evil");
    await store.whenSteps(good, 2);
    await until(async () => (await listWorkers(store.root))[0]?.state === "silent");
    const before = store.lines(good).length;
    useImpatientSockets();
    expect(await codeOf(killThread(store.root, bad))).toBe("WORKER_SILENT");
    const killed = await killThread(store.root, bad, { force: true, env: {} });
    expect(killed).toEqual({ threadId: bad.threadId, resumed: [good.threadId] });
    expect(store.lines(bad).at(-1)).toMatchObject({ role: "__end__", meta: { reason: "killed" } });
    const { steps } = await store.whenStatus(good, "completed");
    expect(steps.length).toBeGreaterThanOrEqual(before - 1);
    expect(steps.map(({ content }) => content).slice(1)).toEqual(
      Array.from({ length: 60 }, (_, n) => String(n)),
    );
  }, 180_000);

  test("in the `finally` of an ended thread is stopped by kill --force", async () => {
    const store = new TestStore();
    const aborted = 'await new Promise((done) => signal.addEventListener("abort", done));';
    const body = `try { yield step("a"); ${aborted} await sleep(300); } finally { ${blocking} }`;
    const hash = await store.add(besides(body));
    const bad = await store.start(hash, "evil");
    await until(() => store.roles(bad).includes("a"));
    const good = await store.start(hash, "good");
    await killThread(store.root, bad);
    const before = store.lines(bad);
    await until(async () => (await listWorkers(store.root))[0]?.state === "silent");
    expect(await codeOf(killThread(store.root, bad))).toBe("THREAD_ENDED");
    const killed = await killThread(store.root, bad, { force: true, env: {} });
    expect(killed).toEqual({ threadId: bad.threadId, resumed: [good.threadId] });
    expect(store.lines(bad)).toEqual(before);
    await store.whenStatus(good, "completed");
    expect(await codeOf(killThread(store.root, bad, { force: true }))).toBe("THREAD_ENDED");
  }, 180_000);
});

describe("a bundle that can't be loaded by its worker", () => {
  test("is reported to the starter with file and line, and leaves no log", async () => {
    const store = new TestStore();
    const hash = await store.add(
      bundleOf("", "\nif (!globalThis.no) throw new Error('no such key');"),
    );
    const error = await store.start(hash).then(
      () => null,
      (thrown: Error) => thrown,
    );
    expect(error?.message).toContain(`${bundlePath(store.root, hash)}:2:`);
    expect(error?.message).toContain("no such key");
    expect(allThreads(store.root)).toEqual([]);
    expect(await codeOf(store.start(hash))).toBe("BUNDLE_LOAD_FAILED");
    await until(() => store.workers().length === 0);
  });

  test("because it calls process.exit is reported with that reason", async () => {
    const store = new TestStore();
    const hash = await store.add(bundleOf("", "\nprocess.exit(0);"));
    const error = await store.start(hash).then(
      () => null,
      (thrown: Error) => thrown,
    );
    expect(error?.message).toContain("process.exit(0)");
    await until(() => store.workers().length === 0);
  });

  test("because its top level never ends fails the start in time, and the worker exits", async () => {
    const store = new TestStore();
    const hash = await store.add(bundleOf("", "\nawait new Promise(() => {});"));
    expect(await codeOf(store.start(hash))).toBe("BUNDLE_LOAD_FAILED");
    expect(allThreads(store.root)).toEqual([]);
    await until(() => store.workers().length === 0);
  }, 180_000);

  test("because its top level blocks fails the start in time, and the worker is killed", async () => {
    const store = new TestStore();
    const hash = await store.add(bundleOf("", `\n${blocking}`));
    expect(await codeOf(store.start(hash))).toBe("BUNDLE_LOAD_FAILED");
    expect(allThreads(store.root)).toEqual([]);
    await until(() => store.workers().length === 0);
  }, 180_000);
});
