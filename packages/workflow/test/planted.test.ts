import { afterEach, describe, expect, test } from "bun:test";
import {
  chmodSync,
  linkSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { ulid } from "ulid";
import { killThread, resumeThread } from "../src/local/workers/control.ts";
import { listThreads } from "../src/local/threads/list.ts";
import { dataPath, runDir, socketName, workerInfoPath, workerLogPath } from "../src/disk/paths.ts";
import { openRoot } from "../src/disk/root.ts";
import { counter } from "./fixtures/bundles.ts";
import { removeStores, TestStore } from "./fixtures/store.ts";
import { codeOf } from "./fixtures/until.ts";

afterEach(removeStores);

type Plant = { name: string; at: (path: string, target: string) => void };
const plants: Plant[] = [
  { name: "a symbolic link", at: (path, target) => symlinkSync(target, path) },
  { name: "a hard link", at: (path, target) => linkSync(target, path) },
  { name: "a FIFO", at: (path) => void Bun.spawnSync(["mkfifo", path]) },
];

function planted(store: TestStore, plant: Plant, path: string): () => string {
  const target = join(store.folder, "precious");
  writeFileSync(target, "precious\n");
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  rmSync(path, { force: true });
  plant.at(path, target);
  return () => readFileSync(target, "utf8");
}

for (const plant of plants) {
  describe(`${plant.name} planted (F18)`, () => {
    test("as a thread's log does not start a thread, and its target is not written", async () => {
      const store = new TestStore();
      const hash = await store.add(counter);
      const threadId = ulid();
      const target = planted(store, plant, dataPath(store.root, hash, threadId));
      await codeOf(store.start(hash, "", { threadId }));
      const ref = { hash, threadId };
      const refused = /PLANTED_LINK|NOT_A_FILE|LOG_CORRUPT/;
      expect(await codeOf(resumeThread(store.root, ref, { env: {} }))).toMatch(refused);
      expect(await codeOf(killThread(store.root, ref))).toMatch(refused);
      await listThreads(store.root);
      expect(target()).toBe("precious\n");
    });

    test("as the worker's log is refused, or not written", async () => {
      const store = new TestStore();
      const hash = await store.add(counter);
      const target = planted(store, plant, workerLogPath(store.root, hash));
      expect(await codeOf(store.start(hash))).toMatch(/PLANTED_LINK|NOT_A_FILE/);
      expect(target()).toBe("precious\n");
    });

    for (const [what, pathOf] of [
      ["socket", (store: TestStore, hash: string) => join(runDir(store.root), socketName(hash))],
      ["holder file", (store: TestStore, hash: string) => workerInfoPath(store.root, hash)],
    ] as const) {
      test(`as the ${what} is replaced, and its target is unchanged`, async () => {
        const store = new TestStore();
        const hash = await store.add(counter);
        const target = planted(store, plant, pathOf(store, hash));
        const ref = await store.start(hash);
        await store.whenStatus(ref, "completed");
        expect(target()).toBe("precious\n");
      });
    }
  });
}

test("a storage root that others can write is refused before anything is read", () => {
  const store = new TestStore();
  chmodSync(store.root, 0o777);
  expect(() => openRoot({ path: store.root })).toThrow("other users can write to the storage root");
});
