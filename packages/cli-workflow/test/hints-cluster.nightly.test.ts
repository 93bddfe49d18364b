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
  "a running thread is moved": {
    in: async () => ["push", await store.play({ ms: 60_000 }), "--host", host],
  },
  "a thread with a broken log is moved": {
    in: async () => ["push", (await statesOfRoots.corrupt?.(store)) ?? "", "--host", host],
  },
  "no cluster answers": {
    in: async () => ["threads", "--host", "restate://127.0.0.1:1"],
    not: isUp,
  },
  "the storage root has no cluster": {
    in: async () => ["cluster", "status", "--root", newFolder()],
    not: isUp,
  },
  "a second cluster is started": {
    in: async () => ["cluster", "up"],
    not: { "cluster down": "the other tests need the cluster; afterAll runs the command" },
  },
};

describe.skipIf(missingServer !== "")(
  `the commands in each hint about clusters work${missingServer}`,
  () => {
    for (const [name, situation] of Object.entries(situations))
      test(name, () => leadsOn(store, situation));

    test("each hint about clusters was tested, except those in this list", () => {
      const goesOn = "the command runs a worker until it is stopped";
      const other = "shown for another thread with the same id";
      expect(
        unled("clusters", {
          "install it (licence BSL 1.1, own use in production is allowed): uncaged-workflow cluster up --install, or: npm install …":
            "the command downloads a program",
          "compare both, and fork the one to keep; nothing was changed: uncaged-workflow fork …":
            other,
          "compare them, and fork the steps to keep: uncaged-workflow fork …": other,
          "it stays where it is; compare them: uncaged-workflow thread …": other,
          "continue in a new thread: uncaged-workflow fork …":
            "shown for a thread that was removed elsewhere",
          "move a fork of it: uncaged-workflow fork …": "shown for logs of an earlier version",
          "add the original file again to restore it: uncaged-workflow add <name> <file>":
            "hints.test.ts runs the command for a storage root",
          "uncaged-workflow worker --host … --port 9080": goesOn,
          "register a worker: uncaged-workflow worker --host URL --port N": goesOn,
          "see whether the cluster runs: uncaged-workflow cluster status":
            "shown when a cluster ends during a call",
          "…end it: uncaged-workflow cluster down": "afterAll runs the command",
          "find the damaged records: uncaged-workflow verify":
            "shown for records that a cluster has damaged",
        }),
      ).toEqual([]);
    });
  },
);
