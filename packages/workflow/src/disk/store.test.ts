import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "bun:test";
import type { ThreadRef } from "../record/thread.ts";
import { storeContract } from "../store/store-contract.ts";
import type { StoreUnderTest } from "../store/store-trial.ts";
import type { LogName, ThreadStore } from "../store/store.ts";
import { openRoot } from "./root.ts";
import { DiskStore } from "./store.ts";

function diskUnderTest(): StoreUnderTest {
  const root = openRoot({ path: mkdtempSync(join(tmpdir(), "uw-store-")) });
  const stores = new Set<ThreadStore>();
  const pathOf = ({ hash, threadId }: ThreadRef, log: LogName): string =>
    join(root, "logs", hash, `${threadId}.${log === "events" ? "info" : log}.jsonl`);
  return {
    open: async () => {
      const store = new DiskStore(root);
      stores.add(store);
      return store;
    },
    // Real crashes are in crash-points.test.ts.
    die: async (store) => {
      stores.delete(store);
      await store.close();
    },
    tear: async (ref, log, record) => {
      appendFileSync(pathOf(ref, log), record.slice(0, record.length / 2));
    },
    damage: async (ref, log, line) => {
      const path = pathOf(ref, log);
      const lines = readFileSync(path, "utf8").split("\n");
      lines[line] = (lines[line] ?? "").replace(/[a-z]/, (letter) => letter.toUpperCase());
      writeFileSync(path, lines.join("\n"));
    },
    seeds: 40,
    close: async () => {
      for (const store of stores) await store.close();
      rmSync(root, { recursive: true });
    },
  };
}

describe("the store of a storage root", () => {
  for (const { name, check } of storeContract()) test(name, () => check(diskUnderTest()));
});
