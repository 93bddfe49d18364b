import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Reply } from "../../../workflow-agents/test/wire.ts";
import type { PlanStore } from "../planned.ts";
import type { Store } from "../program.ts";
import type { Situation } from "./leads.ts";
import { logOf } from "./threads.ts";

/** Registers a workflow whose role calls a model that has a tool. */
export async function addAsker(store: Store): Promise<void> {
  const file = join(import.meta.dir, "../../../workflow-agents/test/turns/turns.ts");
  await store.ok(["add", "asks", file]);
}

/** Queues replies of the model. */
export function reply(store: Store, ...replies: Reply[]): void {
  const { replies: next } = store as PlanStore;
  next.splice(0, next.length, ...replies);
}

const mark: Reply = { tools: [{ name: "mark", input: { n: 1 } }] };
const well: Reply = { text: '{"done":true}' };
const refused: Reply = {
  fault: { kind: "status", status: 400, type: "invalid_request_error", message: "not this turn" },
};
const asked = ["run", "asks", "--prompt", "claude", "--wait"];

/** Returns a thread whose model call failed after a tool call. */
async function refusedThread(store: Store): Promise<string> {
  reply(store, mark, refused, refused);
  return (await store.run(asked)).stdout.trim();
}

/** Situations with models. */
export const models: Record<string, Situation> = {
  "an answer does not match the schema": {
    in: async (store) => {
      reply(store, { text: "soon" }, { text: "soon" }, { text: "soon" }, { text: "soon" });
      return asked;
    },
    first: async (store) => reply(store, well),
    fill: { "<name>": "asks" },
    waits: true,
  },
  "a call would exceed a limit": {
    in: async () => [...asked, "--max-tokens", "5"],
    first: async (store) => reply(store, well),
    fill: { N: "100000" },
    waits: true,
  },
  "the provider refuses a turn": {
    in: async (store) => {
      const id = await refusedThread(store);
      reply(store, refused, refused);
      return ["retry", id, "--wait"];
    },
    first: async (store) => reply(store, well),
    waits: true,
  },
  "a journal is broken": {
    in: async (store) => {
      const id = await refusedThread(store);
      const path = (await logOf(store, id)).replace(".data.", ".journal.");
      writeFileSync(path, readFileSync(path, "utf8").replace("marked 1", "marked 2"));
      return ["retry", id];
    },
    first: async (store) => reply(store, well),
    waits: true,
  },
};
