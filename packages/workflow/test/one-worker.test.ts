import { afterEach, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ulid } from "ulid";
import { listLive } from "../src/local/workers/live.ts";
import { allThreads } from "../src/local/threads/view.ts";
import { idleVariable, spawnWorker } from "../src/local/workers/worker-client.ts";
import { runDir, socketName, startLockPath, workerLogPath } from "../src/disk/paths.ts";
import { isAlive } from "../src/worker/worker-info.ts";
import { bundleOf, counter, endless } from "./fixtures/bundles.ts";
import { spawnClient } from "./fixtures/clients.ts";
import { removeStores, TestStore } from "./fixtures/store.ts";
import { until } from "./fixtures/until.ts";

afterEach(removeStores);

/** Returns the pids of a thread's workers from its debug log. */
const drivers = (notes: string) =>
  [...notes.matchAll(/"type":"worker_start".*?"pid":(\d+)/g)].map((found) => found[1]);

describe("one worker for a hash", () => {
  test("serves sixteen processes that each start a thread, and every thread completes", async () => {
    const store = new TestStore();
    const hash = await store.add(counter);
    const go = join(store.folder, "go");
    // On a busy machine all threads may end before the next client arrives.
    const env = { [idleVariable]: "60000" };
    const clients = Array.from({ length: 16 }, () =>
      spawnClient(store, { workflow: hash, options: { delayMs: 20 } }, { go, env }),
    );
    writeFileSync(go, "");
    const printed = (await Promise.all(clients.map((client) => client.printed()))).flat();
    const ids = new Set(printed.map(({ threadId }) => threadId));
    expect(ids.size).toBe(16);
    const pids = new Set<string | undefined>();
    for (const threadId of ids) {
      if (threadId === undefined) throw new Error(JSON.stringify(printed));
      const ref = { hash, threadId };
      await store.whenStatus(ref, "completed");
      expect(store.roles(ref)).toEqual([undefined, "count", "count", "count", "__end__"]);
      for (const pid of drivers(store.notes(ref))) pids.add(pid);
    }
    expect(pids.size).toBe(1);
  }, 180_000);

  test("starts one thread when processes use the same thread id for two versions", async () => {
    const store = new TestStore();
    const hashes = [await store.add(`${counter}// 1`), await store.add(`${counter}// 2`)];
    const go = join(store.folder, "go");
    const threadId = ulid();
    const clients = Array.from({ length: 10 }, (_, n) =>
      spawnClient(store, { workflow: hashes[n % 2] as string, threadId }, { go }),
    );
    writeFileSync(go, "");
    const printed = (await Promise.all(clients.map((client) => client.printed()))).flat();
    const found = allThreads(store.root);
    expect(found).toHaveLength(1);
    expect(found[0]?.threadId).toBe(threadId);
    // The starts of the other version are refused.
    const winner = hashes.indexOf(found[0]?.hash ?? "");
    expect(printed.map((one) => one.threadId)).toEqual(
      Array.from({ length: 10 }, (_, n) => (n % 2 === winner ? threadId : undefined)),
    );
    expect(existsSync(startLockPath(store.root, threadId))).toBe(false);
  }, 180_000);

  test("exits when idle, and leaves only its log, its lock and its threads' files", async () => {
    const store = new TestStore();
    const hash = await store.add(counter);
    await store.start(hash);
    await until(() => store.workers().length === 0);
    await until(() => readdirSync(runDir(store.root)).length <= 3);
    const left = [`${hash}.lock`, `${hash}.log`, "registry.lock"];
    expect(readdirSync(runDir(store.root)).sort()).toEqual(left);
  });

  test("exits even if it can't remove its socket and its info, and another worker takes over", async () => {
    const store = new TestStore();
    const hash = await store.add(counter);
    spawnWorker(store.root, hash);
    await until(
      () => store.workers().length === 1 && existsSync(join(runDir(store.root), socketName(hash))),
    );
    const [worker] = store.workers();
    // Folders in place of the files, because unlink can't remove a folder.
    const planted = [socketName(hash), `${hash}.holder`].map((name) =>
      join(runDir(store.root), name),
    );
    for (const path of planted) {
      rmSync(path);
      mkdirSync(join(path, "full"), { recursive: true });
    }
    await until(() => worker !== undefined && !isAlive(worker));
    for (const path of planted) rmSync(path, { recursive: true });
    const ref = await store.start(hash);
    await store.whenStatus(ref, "completed");
  });

  test("does not keep a pipe of its parent process open", async () => {
    const store = new TestStore();
    const hash = await store.add(endless);
    const client = spawnClient(store, { workflow: hash });
    const [{ threadId }] = (await client.printed()) as [{ threadId: string }];
    expect((await listLive(store.root)).map((row) => row.threadId)).toEqual([threadId]);
  });

  test("writes its own output to its log, and a bundle's output to the thread's log", async () => {
    const store = new TestStore();
    const hash = await store.add(
      bundleOf(`console.log("from a role"); process.stdout.write("raw\\n"); yield step("a");`),
    );
    const ref = await store.start(hash);
    await store.whenStatus(ref, "completed");
    await until(() => store.notes(ref).includes("raw"));
    expect(store.notes(ref)).toContain("from a role");
    expect(readFileSync(workerLogPath(store.root, hash), "utf8")).not.toContain("from a role");
    expect(existsSync(join(store.folder, ".env"))).toBe(false);
  });
});
