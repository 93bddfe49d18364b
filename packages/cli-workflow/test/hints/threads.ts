import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openLocalHost, type WorkflowError } from "@uncaged/workflow/host";
import { checkFixture } from "@uncaged/workflow/internal";
import { dataPath } from "../../../workflow/src/disk/paths.ts";
import { openRoot } from "../../../workflow/src/disk/root.ts";
import { asker, bundleOf } from "../../../workflow/test/fixtures/bundles.ts";
import { whatNext } from "../../src/output/outcome.ts";
import { playBundle, type Store } from "../program.ts";
import type { Situation } from "./leads.ts";

/** Creates a thread in a state and returns its id. */
export type Make = (store: Store) => Promise<string>;

const approval = {
  type: "object",
  properties: { decision: { enum: ["approve", "reject"] }, note: { type: "string" } },
};

const played =
  (status: string, params: object, ...args: string[]): Make =>
  async (store) => {
    const id = await store.play(params, ...args);
    await store.until(id, status);
    return id;
  };

const acted =
  (make: Make, status: string, ...command: string[]): Make =>
  async (store) => {
    const id = await make(store);
    await store.ok([...command, id]);
    await store.until(id, status);
    return id;
  };

/** Returns a function that starts a thread whose question has the options in `wait`. */
const asked =
  (wait: object, status = "waiting"): Make =>
  async (store) => {
    const id = await store.ok(["run", "asker", "--option", `wait=${JSON.stringify(wait)}`]);
    await store.until(id, status);
    return id;
  };

/** Registers the workflows that the states need besides `play`. */
export async function addBundles(store: Store): Promise<void> {
  for (const [name, source] of Object.entries({ asker, rescued, picky })) {
    const file = join(store.folder, `${name}.esm.js`);
    writeFileSync(file, source);
    await store.ok(["add", name, file]);
  }
}

/** A workflow that catches the failure of a step, then fails itself. */
const rescued = bundleOf(`
  if (input.steps.length === 0)
    yield step("work", "down", { __durable__: { failure: { name: "Error", message: "down" } } });
  return { returnCode: 3, summary: "no work" };`);

const picky = bundleOf(`yield step("note", "x");`).replace(
  "roles: {}",
  'roles: {}, input: { type: "object", required: ["days"], properties: { days: { type: "integer" } } }',
);

const running = played("running", { ms: 60_000 });
export const completed = played("completed", {});
const hour = 3_600_000;

/** Functions that create a new thread in each state, on any host. */
export const states: Record<string, Make> = {
  completed,
  "out of rounds": played("completed", {}, "--max-rounds", "2"),
  failed: played("failed", { fail: 2 }),
  "returned 3": played("failed", { code: 3 }),
  "failed after a caught failure": async (store) => {
    const id = await store.ok(["run", "rescued"]);
    await store.until(id, "failed");
    return id;
  },
  killed: acted(running, "killed", "kill"),
  waiting: played("waiting", { ask: 2 }),
  "waiting for an approval": played("waiting", { ask: 2, schema: approval }),
  "waiting for a decision on a tool call": asked({ for: "tool", call: { tool: "rm", input: {} } }),
  "waiting for a limit of its storage root": asked({ for: "limits" }),
  "waiting for a limit": asked({ for: "budget", schema: { type: "number" } }),
  sleeping: asked({ for: "sleep", sleep: true, expiresAt: Date.now() + hour }),
  "waiting until a deadline": asked({ for: "leave", expiresAt: Date.now() + hour }),
  running,
  paused: async (store) => {
    const { id, open } = await store.playGated(2);
    await store.ok(["pause", id]);
    open();
    await store.until(id, "paused");
    return id;
  },
};

/** States that need a storage root, where workers are processes and logs are files. */
export const statesOfRoots: Record<string, Make> = {
  interrupted: async (store) => {
    const id = await running(store);
    await store.killWorkers();
    await store.until(id, "interrupted");
    return id;
  },
  corrupt: async (store) => {
    const id = await completed(store);
    const path = await logOf(store, id);
    const lines = readFileSync(path, "utf8").split("\n");
    writeFileSync(path, lines.with(3, (lines[3] ?? "").replace("coder", "coda")).join("\n"));
    return id;
  },
  trashed: async (store) => {
    const id = await completed(store);
    await store.ok(["thread", "rm", id]);
    return id;
  },
};

export async function logOf(store: Store, id: string): Promise<string> {
  const { hash } = await openLocalHost({ path: store.root }).find(id);
  return dataPath(openRoot({ path: store.root }), hash, id);
}

/** Commands to try on threads in each state. */
export const attempts: string[][] = [
  ["resume"],
  ["resume", "--input", "yes"],
  ["resume", "--approve"],
  ["resume", "--edit", "{}"],
  ["retry"],
  ["pause"],
  ["kill"],
  ["thread rm"],
  ["fork", "--at-step", "9"],
  ["thread", "--value", "5"],
  ["thread restore"],
  ["next"],
];

/** Returns the situation of a command on a thread in a state. */
export const tried = (make: Make, [command = "", ...options]: string[]): Situation => ({
  in: async (store) => {
    const id = await make(store);
    return command === "next" ? await next(store, id) : [...command.split(" "), id, ...options];
  },
});

/** Returns the next action that the program suggests for a thread; "" for a removed thread. */
async function next(store: Store, id: string): Promise<string> {
  const host = store.memory ?? openLocalHost({ path: store.root });
  if ((await host.trash()).some(({ threadId }) => threadId === id)) return "";
  return whatNext(id, await host.read(await host.find(id))) ?? "";
}

/** Situations that `attempts` does not cover. */
export const threads: Record<string, Situation> = {
  "a start has the id of another workflow's thread": {
    in: async (store) => ["run", "asker", "--thread-id", await store.play()],
  },
  "a thread is missing": { in: async () => ["thread", "01ZZZZZZZZ"] },
  "no thread matches a filter": { in: async () => ["threads", "--status", "corrupt"] },
  "`--wait` for several threads": {
    in: async (store) => ["resume", await completed(store), await completed(store), "--wait"],
  },
  "an answer to a paused thread": {
    in: async (store) => {
      const id = await states.waiting?.(store);
      await store.ok(["pause", id ?? ""]);
      return ["resume", id ?? "", "--input", "yes"];
    },
  },
  "nothing runs": {
    in: async () => ["ps"],
    isNew: true,
  },
  "a thread runs": {
    in: async (store) => {
      await running(store);
      return ["ps"];
    },
  },
  "a rerun of another kind of workflow": {
    in: async (store) => ["rerun", await completed(store), "--from-step", "A_B"],
  },
  "a document is not a fixture": {
    in: async (store) => {
      await completed(store);
      try {
        checkFixture({});
        return "";
      } catch (error) {
        return (error as WorkflowError).hint ?? "";
      }
    },
  },
  "params that violate the schema": {
    in: async () => ["run", "picky", "--params", '{"days":"x"}'],
  },
  "a retry with other params": {
    in: async (store) => ["retry", await completed(store), "--params", "{}"],
  },
  "a retry with another prompt": {
    in: async (store) => ["retry", await completed(store), "--prompt", "x"],
  },
  "a retry with a prompt file": {
    in: async (store) => ["retry", await completed(store), "--prompt-file", "x"],
    fill: { "<file>": playBundle },
  },
  "a fork keeps more steps than the thread has": {
    in: async (store) => ["fork", await completed(store), "--at-step", "9"],
  },
  "a fork answers a step that is not a question": {
    in: async (store) => ["fork", await completed(store), "--at-step", "1", "--input", "yes"],
  },
  "a fork answers before the question": {
    in: async (store) => {
      const id = await states.waiting?.(store);
      return ["fork", id ?? "", "--at-step", "1", "--input", "yes"];
    },
  },
};
