// @cluster: starts a server and a worker.
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { missingServer } from "../../workflow-restate/test/fixtures/server.ts";
import { leadsOn, type Situation, unled } from "./hints/leads.ts";
import { statesOfRoots } from "./hints/threads.ts";
import { newFolder, playStore, removeFolders, type Store } from "./program.ts";

setDefaultTimeout(180_000);
let store: Store;
let host = "";

beforeAll(async () => {
  if (missingServer !== "") return;
  store = await playStore();
  ({ host } = await store.json<{ host: string }>(["cluster", "up", "--workers", "1"]));
});
afterAll(async () => {
  if (missingServer === "") await store.ok(["cluster", "down", "--data"]);
  removeFolders();
});

async function moved(): Promise<string> {
  const id = await store.play({ ask: 2 });
  await store.until(id, "waiting");
  await store.ok(["push", id, "--host", host]);
  return id;
}

const isUp = { "cluster up": "a cluster runs here" };
const situations: Record<string, Situation> = {
  "a thread that has moved to the cluster": {
    in: async () => ["resume", await moved(), "--input", "yes"],
  },
  "a thread that has moved back": {
    in: async () => {
      const id = await moved();
      await store.ok(["pull", id, "--host", host]);
      return ["resume", id, "--input", "yes", "--host", host];
    },
    get fill() {
      return { URL: host };
    },
  },
  "a thread that runs is moved": {
    in: async () => ["push", await store.play({ ms: 60_000 }), "--host", host],
  },
  "a thread with a broken log is moved": {
    in: async () => ["push", (await statesOfRoots.corrupt?.(store)) ?? "", "--host", host],
  },
  "no cluster": { in: async () => ["threads", "--host", "restate://127.0.0.1:1"], not: isUp },
  "no cluster of this root": {
    in: async () => ["cluster", "status", "--root", newFolder()],
    not: isUp,
  },
  "a cluster that runs already": {
    in: async () => ["cluster", "up"],
    not: { "cluster down": "the other tests need it; afterAll runs it" },
  },
};

describe.skipIf(missingServer !== "")(`each hint of clusters leads on${missingServer}`, () => {
  for (const [name, situation] of Object.entries(situations))
    test(name, () => leadsOn(store, situation));

  test("each hint of clusters was shown, and its commands work", () => {
    const goesOn = "a worker runs until it is stopped";
    const other = "of another thread with the same id";
    expect(
      unled("clusters", {
        "install it (licence BSL 1.1, own use in production is allowed): uncaged-workflow cluster up --install, or: npm install …":
          "it loads a program",
        "compare both, and fork the one to keep; nothing was changed: uncaged-workflow fork …":
          other,
        "compare them, and fork the steps to keep: uncaged-workflow fork …": other,
        "it stays where it is; compare them: uncaged-workflow thread …": other,
        "continue in a new thread: uncaged-workflow fork …":
          "of a thread that was removed elsewhere",
        "move a fork of it: uncaged-workflow fork …": "of logs of an earlier version",
        "add the original file again to restore it: uncaged-workflow add <name> <file>":
          "run for a storage root by hints.test.ts",
        "uncaged-workflow worker --host … --port 9080": goesOn,
        "register a worker: uncaged-workflow worker --host URL --port N": goesOn,
        "see whether the cluster runs: uncaged-workflow cluster status":
          "of a cluster that ends during a call",
        "…end it: uncaged-workflow cluster down": "afterAll runs it",
        "find the damaged records: uncaged-workflow verify":
          "of records that a cluster has damaged",
      }),
    ).toEqual([]);
  });
});
