import { afterEach, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import {
  killThread,
  pauseThread,
  removeThread,
  resumeThread,
} from "../src/local/workers/control.ts";
import { collectGarbage } from "../src/local/upkeep/gc.ts";
import { forkThread } from "../src/local/threads/start.ts";
import { runFolder, runFolders } from "../src/sandbox/run-folder.ts";
import { dataPath, trashDir } from "../src/disk/paths.ts";
import { counter, endless } from "./fixtures/bundles.ts";
import { removeStores, TestStore } from "./fixtures/store.ts";
import { codeOf, messageOf, until } from "./fixtures/until.ts";

afterEach(removeStores);

describe("thread rm", () => {
  test("refuses running, paused and waiting threads, and removes them completely with force", async () => {
    const store = new TestStore();
    const ref = await store.start(await store.add(endless));
    expect(await codeOf(removeThread(store.root, ref))).toBe("THREAD_RUNNING");
    await pauseThread(store.root, ref);
    await store.whenStatus(ref, "paused");
    expect(await codeOf(removeThread(store.root, ref))).toBe("THREAD_RUNNING");
    await removeThread(store.root, ref, { force: true });
    const folder = dirname(dataPath(store.root, ref.hash, ref.threadId));
    expect(readdirSync(folder)).toEqual([]);
    await until(() => store.workers().length === 0);
    expect(readdirSync(folder)).toEqual([]);
    expect(await codeOf(store.read(ref))).toBe("THREAD_NOT_FOUND");
  });

  test("that races resume, kill and fork leaves a whole log or none", async () => {
    const store = new TestStore();
    const hash = await store.add(counter);
    for (let n = 0; n < 5; n += 1) {
      const ref = await store.start(hash, "", { options: { count: 50, delayMs: 2 } });
      const said = await Promise.all([
        codeOf(removeThread(store.root, ref, { force: true })),
        codeOf(resumeThread(store.root, ref, { env: {} })),
        codeOf(killThread(store.root, ref)),
        codeOf(forkThread(store.root, ref, { env: {} })),
      ]);
      expect(said[0]).toStartWith("no error");
      expect(existsSync(dataPath(store.root, hash, ref.threadId))).toBe(false);
    }
    for (const name of readdirSync(dirname(dataPath(store.root, hash, "x")))) {
      if (!name.endsWith(".data.jsonl")) continue;
      const ref = { hash, threadId: name.slice(0, 26) };
      expect((await store.whenStatus(ref, "completed")).steps).toHaveLength(50);
    }
  });

  test("that the disk refuses names the file, and keeps the thread", async () => {
    const store = new TestStore();
    const ref = await store.start(await store.add(counter));
    await store.whenStatus(ref, "completed");
    const path = trashDir(store.root);
    writeFileSync(path, "");
    expect(await messageOf(removeThread(store.root, ref))).toContain(path);
    expect((await store.read(ref)).status).toBe("completed");
  });
});

describe("the folder of a thread's sandboxed commands", () => {
  const before = process.env.XDG_CACHE_HOME;
  const cache = mkdtempSync(join(tmpdir(), "uncaged-cache-"));
  afterEach(() => {
    if (before === undefined) delete process.env.XDG_CACHE_HOME;
    else process.env.XDG_CACHE_HOME = before;
    rmSync(cache, { recursive: true, force: true });
  });

  test("is removed with the thread, or by gc once the thread has ended", async () => {
    process.env.XDG_CACHE_HOME = cache;
    const store = new TestStore();
    const removed = await store.start(await store.add(counter));
    const ended = await store.start(await store.add(counter));
    const open = await store.start(await store.add(endless));
    const another = "01KQXKW18CT8G75T53R8F4G7YG";
    for (const ref of [removed, ended]) await store.whenStatus(ref, "completed");
    for (const threadId of [removed.threadId, ended.threadId, open.threadId, another])
      mkdirSync(join(runFolder(process.env, threadId), "homes"), { recursive: true });
    await removeThread(store.root, removed);
    const kept = [another, open.threadId].toSorted();
    expect(runFolders(process.env).toSorted()).toEqual([ended.threadId, ...kept].toSorted());
    const path = runFolder(process.env, ended.threadId);
    expect((await collectGarbage(store.root, { dryRun: true })).leftovers).toEqual([path]);
    expect(existsSync(path)).toBe(true);
    expect((await collectGarbage(store.root)).leftovers).toEqual([path]);
    expect(runFolders(process.env).toSorted()).toEqual(kept);
    await killThread(store.root, open);
  });
});
