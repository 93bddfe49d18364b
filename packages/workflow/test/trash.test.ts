import { afterEach, expect, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, renameSync } from "node:fs";
import { basename, join } from "node:path";
import { takeLock } from "../src/disk/lock.ts";
import { dataPath, startLockPath, threadsDir, trashDir } from "../src/disk/paths.ts";
import { openLocalHost } from "../src/local/host.ts";
import { asker, bundleOf, counter } from "./fixtures/bundles.ts";
import { removeStores, TestStore } from "./fixtures/store.ts";
import { codeOf, until } from "./fixtures/until.ts";

afterEach(removeStores);

const dayMs = 86_400_000;

const keeping = bundleOf(`
  const blob = await options.blobs.put(new TextEncoder().encode("kept"));
  yield step("a", "", { blob });
  throw new Error("stop");`);

/** Returns the names and the bytes of a thread's files. */
function filesOf({ root }: TestStore, hash: string, threadId: string): Record<string, string> {
  const folder = threadsDir(root, hash);
  const names = readdirSync(folder, { recursive: true, withFileTypes: true });
  const files = names.filter(
    (one) => one.isFile() && join(one.parentPath, one.name).includes(threadId),
  );
  return Object.fromEntries(
    files.map(({ parentPath, name }) => [name, readFileSync(join(parentPath, name), "utf8")]),
  );
}

async function removed(source: string = keeping) {
  const store = new TestStore();
  const host = openLocalHost({ path: store.root });
  const ref = await store.start(await store.add(source));
  await store.whenStatus(ref, "failed", "completed", "waiting");
  await until(() => store.workers().length === 0);
  const before = filesOf(store, ref.hash, ref.threadId);
  const { createdAt } = await host.read(ref);
  expect(await host.remove(ref, { force: true })).toEqual({
    threadId: ref.threadId,
    inTrash: true,
  });
  return { store, host, ref, before, createdAt };
}

test("a removed thread is restored with all of its files, once in concurrent restores", async () => {
  const { store, host, ref, before } = await removed();
  expect(Object.keys(before).length).toBeGreaterThan(2);
  expect(await codeOf(host.read(ref))).toBe("THREAD_NOT_FOUND");
  expect((await host.threads()).rows).toEqual([]);
  expect(filesOf(store, ref.hash, ref.threadId)).toEqual({});
  expect(await host.trash()).toMatchObject([{ ...ref, workflow: ref.hash }]);
  expect((await host.verify()).problems).toEqual([]);
  const all = await Promise.all(
    Array.from({ length: 20 }, () => codeOf(host.restore(ref.threadId.slice(-12)))),
  );
  expect(all.filter((code) => code.startsWith("no error"))).toHaveLength(1);
  expect(new Set(all.filter((code) => !code.startsWith("no error")))).toEqual(
    new Set(["NOT_IN_TRASH"]),
  );
  expect(filesOf(store, ref.hash, ref.threadId)).toEqual(before);
  expect(await host.trash()).toEqual([]);
  expect(readdirSync(trashDir(store.root))).toEqual([]);
  expect((await host.read(ref)).status).toBe("failed");
  expect((await host.verify()).problems).toEqual([]);
});

test("only gc --trash empties the trash, after seven days, and the bundle is kept until then", async () => {
  const { store, host, ref } = await removed(counter);
  await until(() => store.workers().length === 0);
  const now = Date.now();
  const later = (days: number) => ({ now: now + days * dayMs });
  expect((await host.collect(later(30))).removed).toEqual([]);
  expect((await host.collect({ ...later(6), trash: true })).emptied).toEqual([]);
  expect((await host.collect({ ...later(8), trash: true, dryRun: true })).emptied).toHaveLength(1);
  expect(await host.trash()).toHaveLength(1);
  const collected = await host.collect({ ...later(8), trash: true });
  expect(collected).toMatchObject({ removed: [ref.hash], emptied: [expect.any(String)] });
  expect(await host.trash()).toEqual([]);
  expect(await codeOf(host.restore(ref.threadId))).toBe("NOT_IN_TRASH");
});

test("files of a removed thread that a crash left in its folder are restored with it, and are not garbage", async () => {
  const { store, host, ref, before } = await removed();
  const [name] = readdirSync(trashDir(store.root));
  const folder = join(trashDir(store.root), String(name));
  // Simulates a kill after the first rename.
  for (const one of readdirSync(folder)) {
    if (one === basename(dataPath(store.root, ref.hash, ref.threadId))) continue;
    renameSync(join(folder, one), join(threadsDir(store.root, ref.hash), one));
  }
  await host.collect({ now: Date.now() + dayMs });
  expect(filesOf(store, ref.hash, ref.threadId)).toEqual({});
  await host.restore(ref.threadId);
  expect(filesOf(store, ref.hash, ref.threadId)).toEqual(before);
});

test("an empty folder in the trash after a crash is not a thread, and gc deletes it", async () => {
  const { store, host, ref } = await removed(counter);
  const { hash, threadId } = ref;
  const ghost = join(trashDir(store.root), `${Date.now() + dayMs}-${hash}-${threadId}`);
  mkdirSync(ghost);
  expect(await host.trash()).toHaveLength(1);
  await host.restore(threadId);
  expect(await host.trash()).toEqual([]);
  expect(await codeOf(host.restore(threadId))).toBe("NOT_IN_TRASH");
  await host.collect();
  expect(readdirSync(trashDir(store.root))).toHaveLength(1);
  await host.collect({ now: Date.now() + dayMs });
  expect(readdirSync(trashDir(store.root))).toEqual([]);
  expect((await host.read(ref)).status).toBe("completed");
});

test("gc skips a thread that is being restored or removed", async () => {
  const { store, host, ref } = await removed();
  const { hash, threadId } = ref;
  const [name] = readdirSync(trashDir(store.root));
  const folder = join(trashDir(store.root), String(name));
  const data = basename(dataPath(store.root, hash, threadId));
  const rest = readdirSync(folder).filter((one) => one !== data);
  const here = threadsDir(store.root, hash);
  // Simulates a restore that has not moved the log yet and holds the lock of the id.
  const lock = takeLock(startLockPath(store.root, threadId), 0);
  for (const one of rest) renameSync(join(folder, one), join(here, one));
  await host.collect();
  expect(readdirSync(here).sort()).toEqual(rest.sort());
  renameSync(join(folder, data), join(here, data));
  let isRemoved = false;
  // The removal may stop waiting for the lock before the restore does.
  const removing = host.remove(ref).then(
    () => (isRemoved = true),
    () => undefined,
  );
  expect(await codeOf(host.restore(threadId))).toStartWith("START_PENDING");
  expect(isRemoved).toBe(false);
  lock?.release();
  await removing;
});

test("a restore does not replace a newer thread with its id", async () => {
  const { store, host, ref, createdAt } = await removed(counter);
  const { threadId } = ref;
  const again = await store.start(ref.hash, "", { threadId });
  await store.whenStatus(again, "completed");
  expect(await codeOf(host.restore(threadId))).toBe("THREAD_EXISTS");
  await host.remove(again);
  expect(await host.trash()).toHaveLength(2);
  await host.restore(threadId);
  expect(await host.trash()).toHaveLength(1);
  expect((await host.read(ref)).createdAt).toBe(createdAt);
});

test("a sleeping thread that was removed by force is killed, and stays killed when it is restored", async () => {
  const store = new TestStore();
  const host = openLocalHost({ path: store.root });
  const options = { wait: { sleep: true, expiresAt: Date.now() + dayMs } };
  const ref = await store.start(await store.add(asker), "", { options });
  await store.whenStatus(ref, "waiting");
  await host.remove(ref, { force: true });
  await host.restore(ref.threadId);
  expect((await host.read(ref)).status).toBe("killed");
});

test("secrets stay masked in the trash", async () => {
  const store = new TestStore();
  const source = bundleOf(`console.log(env.MY_TOKEN); yield step("a");`);
  const env = { MY_TOKEN: "tok-9876543210" };
  const ref = await store.start(await store.add(source), "", { env });
  await store.whenStatus(ref, "completed");
  await openLocalHost({ path: store.root }).remove(ref);
  const files = readdirSync(trashDir(store.root), { recursive: true, withFileTypes: true });
  const texts = files
    .filter((one) => one.isFile())
    .map(({ parentPath, name }) => readFileSync(join(parentPath, name), "utf8"));
  expect(texts.join("")).toContain("***");
  expect(texts.join("")).not.toContain(env.MY_TOKEN);
});
