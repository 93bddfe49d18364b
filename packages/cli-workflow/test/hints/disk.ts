import {
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { openLocalHost } from "@uncaged/workflow/host";
import { bundlePath, dueDir } from "../../../workflow/src/disk/paths.ts";
import { openRoot } from "../../../workflow/src/disk/root.ts";
import { counter } from "../../../workflow/test/fixtures/bundles.ts";
import { signalWorkers } from "../../../workflow/test/fixtures/store.ts";
import { twinOf } from "../../../workflow/test/fixtures/twin.ts";
import { until } from "../../../workflow/test/fixtures/until.ts";
import { startServer } from "../../../server/src/entry/index.ts";
import { ended, playBundle, type Store } from "../program.ts";
import type { Situation } from "./leads.ts";
import { addBundles, completed, logOf, states, statesOfRoots } from "./threads.ts";

const rootOf = (store: Store) => openRoot({ path: store.root });

/** Returns the path of a workflow's current bundle. */
async function bundleOf(store: Store, name: string): Promise<string> {
  const { hash } = await openLocalHost({ path: store.root }).resolve(name);
  return bundlePath(rootOf(store), hash);
}

/** Returns the output of a command that is interrupted after it has written a text. */
async function interrupted(store: Store, args: string[], after: string): Promise<string> {
  const child = store.start(args);
  let text = "";
  for await (const part of child.stderr) {
    text += new TextDecoder().decode(part);
    if (text.includes(after)) child.kill("SIGINT");
  }
  await child.exited;
  return text;
}

async function sleeper(store: Store): Promise<void> {
  await addBundles(store);
  await states.sleeping?.(store);
  await store.ok(["wake"]);
}

const withoutDues = async (store: Store) => rmSync(dueDir(rootOf(store)), { recursive: true });

const dues = (store: Store): string[] =>
  readdirSync(dueDir(rootOf(store)), { recursive: true, encoding: "utf8" })
    .map((name) => join(dueDir(rootOf(store)), name))
    .filter((path) => /[0-9A-Z]{26}/.test(basename(path)));

const again = { "<file>": playBundle, "<name>": "play" };

/** Situations that only a storage root has. */
export const disk: Record<string, Situation> = {
  "a thread was removed": { in: async (store) => ["thread", "rm", await completed(store)] },
  "a thread in the trash has the id of an existing thread": {
    in: async (store) => {
      const id = await completed(store);
      const path = await logOf(store, id);
      const kept = join(store.folder, id);
      cpSync(path, kept);
      await store.ok(["thread", "rm", id]);
      renameSync(kept, path);
      return ["thread", "restore", id];
    },
  },
  "a bundle is missing": {
    in: async (store) => {
      const file = join(store.folder, "counter.esm.js");
      writeFileSync(file, counter);
      await store.ok(["add", "play", file]);
      await store.ok(["add", "play", playBundle]);
      rmSync(await bundleOf(store, "play"));
      return ["doctor"];
    },
    fill: again,
    isNew: true,
  },
  "a bundle was replaced by other bytes with the same hash": {
    in: async (store) => {
      const path = await bundleOf(store, "play");
      writeFileSync(path, twinOf(readFileSync(path), "export {};"));
      return ["run", "play"];
    },
    fill: again,
    isNew: true,
  },
  "a thread was interrupted": {
    in: async (store) => {
      await statesOfRoots.interrupted?.(store);
      return ["doctor"];
    },
    isNew: true,
  },
  "many threads were interrupted": {
    in: async (store) => {
      for (let n = 0; n < 6; n += 1) await store.play({ ms: 60_000 });
      await store.killWorkers();
      return ["doctor"];
    },
    isNew: true,
  },
  "a thread has a broken log": {
    in: async (store) => {
      await statesOfRoots.corrupt?.(store);
      return ["doctor"];
    },
    isNew: true,
  },
  "a start record is broken": {
    in: async (store) => {
      const id = await completed(store);
      const path = await logOf(store, id);
      writeFileSync(path, readFileSync(path, "utf8").replace("{", "#"));
      return ["run", "play", "--thread-id", id];
    },
    isNew: true,
  },
  "a waiting thread is attested": {
    in: async (store) => ["attest", (await states.waiting?.(store)) ?? "", "--key", "key.pub"],
  },
  "a sleeping thread is not listed as due": {
    in: async (store) => {
      await sleeper(store);
      for (const path of dues(store)) rmSync(path, { recursive: true });
      return ["verify"];
    },
    first: withoutDues,
    isNew: true,
  },
  "a sleeping thread is listed as due at another time": {
    in: async (store) => {
      await sleeper(store);
      for (const path of dues(store)) {
        const other = join(dirname(dirname(path)), "1000000");
        mkdirSync(other, { recursive: true });
        renameSync(path, join(other, basename(path)));
      }
      return ["verify"];
    },
    first: withoutDues,
    isNew: true,
  },
  "an interrupted thread is not resumed automatically": {
    in: async (store) => {
      await store.ok(["run", "play", "--params", '{"ms":60000}'], { env: { A_KEY: "x" } });
      await store.killWorkers();
      return ["resume", "--interrupted"];
    },
    isNew: true,
  },
  "a step sends an answer": {
    in: async (store) => {
      const id = (await states.waiting?.(store)) ?? "";
      const mark = { UNCAGED_WORKFLOW_WORKER: store.root };
      return (await ended(store.start(["resume", id, "--input", "yes"], { env: mark }))).stderr;
    },
  },
  "follow is interrupted": {
    in: async (store) => {
      const { id } = await store.playGated(2);
      await until(
        async () => (await store.json<{ steps: unknown[] }>(["thread", id])).steps.length > 0,
      );
      const child = store.start(["follow", id]);
      for await (const _ of child.stdout) child.kill("SIGINT");
      return await child.stderr.text();
    },
    not: { follow: "runs until the thread ends" },
  },
  "a followed thread is paused": {
    in: async (store) => {
      const id = (await states.paused?.(store)) ?? "";
      return (await interrupted(store, ["follow", id], "paused;")).split("\n")[0] ?? "";
    },
  },
  "a worker does not answer": {
    in: async (store) => {
      await store.play({ ms: 60_000 });
      await signalWorkers(rootOf(store), "SIGSTOP");
      return ["doctor"];
    },
    isNew: true,
  },
  "`dev` without a file": {
    in: async () => ["dev"],
    not: { "dev workflow.ts": "runs until it is stopped; see dev.test.ts" },
  },
  "an eval is missing": {
    in: async (store) => (await asked(store, "/api/evals/none")).hint ?? "",
    fill: { "<dataset>": "cases.jsonl", "<file>": "score.ts" },
  },
  "a source is sent without a file that it imports": {
    in: async (store) => {
      const body = 'import "nowhere"; export const descriptor = {};';
      const sent = {
        method: "POST",
        body,
        headers: { "Content-Type": "application/octet-stream" },
      };
      return (await asked(store, "/api/workflows/some?file=some.ts", sent)).hint ?? "";
    },
    fill: { "<file>": "some.ts" },
  },
  "a fixture is missing": {
    in: async (store) => {
      await completed(store);
      return [...evalOf, "--fixtures", "."];
    },
  },
  "a fixture is invalid": {
    in: async (store) => {
      await completed(store);
      mkdirSync(join(store.folder, "wrong"), { recursive: true });
      writeFileSync(join(store.folder, "wrong/one.json"), "{}");
      return [...evalOf, "--fixtures", "wrong"];
    },
  },
};

const evalOf = ["eval", "play", "cases.jsonl", "--score", "score.ts"];

/** Writes the input files of evals and builds. */
export function writeFiles({ folder }: Store): void {
  const files = {
    "key.pub": "ssh-ed25519 AAAA",
    "cases.jsonl": '{"id":"one","prompt":"x"}',
    "score.ts": "export default () => 1;",
    "some.ts": `export const descriptor = { description: "some", roles: {} };
      export async function* run() { return { returnCode: 0, summary: "done" }; }`,
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
}

/** Returns the error in the API's answer to a request. */
async function asked(store: Store, path: string, init?: RequestInit) {
  const host = openLocalHost({ path: store.root });
  const given = { host, env: store.env, cwd: store.folder, version: "test" };
  const server = startServer({ ...given, hostname: "127.0.0.1", port: 0 });
  try {
    const headers = new Headers(init?.headers);
    headers.set("Authorization", `Bearer ${server.token}`);
    const response = await fetch(`http://127.0.0.1:${server.port}${path}`, { ...init, headers });
    return ((await response.json()) as { error: { hint?: string } }).error;
  } finally {
    await server.stop();
  }
}
