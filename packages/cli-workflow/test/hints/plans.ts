import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ask, create, planOf, type PlanStore, type Started } from "../planned.ts";
import type { Store } from "../program.ts";
import type { Situation } from "./leads.ts";

const cron = { type: "cron", expression: "0 9 * * *" };

/** A plan of a file, which waits for its confirmation. */
async function plan(store: Store, trigger: object = { type: "manual" }): Promise<string> {
  const path = join((store as PlanStore).work, `${crypto.randomUUID()}.json`);
  writeFileSync(path, JSON.stringify(planOf({ a: [] }, { trigger })));
  const { workflow } = await store.json<{ workflow: { id: string } }>(
    ...[["plan", "new", "--file", path], { cwd: (store as PlanStore).work }] as const,
  );
  return workflow.id;
}

async function active(store: Store): Promise<string> {
  const id = await plan(store, cron);
  await store.ok(["plan", "confirm", id]);
  return id;
}

async function paused(store: Store): Promise<string> {
  const id = await active(store);
  await store.ok(["plan", "pause", id]);
  return id;
}

async function completed(store: Store): Promise<string> {
  const id = await plan(store);
  await store.ok(["plan", "confirm", id, "--wait"]);
  return id;
}

async function failed(store: Store): Promise<string> {
  const id = await plan(store);
  (store as PlanStore).mark("broken", ["a"]);
  await store.run(["plan", "confirm", id, "--wait"]);
  (store as PlanStore).mark("broken", []);
  return id;
}

async function executing(store: Store): Promise<string> {
  const id = await plan(store);
  (store as PlanStore).mark("waiting", ["a"]);
  await store.json<Started>(["plan", "confirm", id]);
  return id;
}

const on = (make: (store: Store) => Promise<string>, ...words: string[]): Situation => ({
  in: async (store) => ["plan", ...words, await make(store)],
});

/** Situations of plans. */
export const plans: Record<string, Situation> = {
  "no plans": { in: async () => ["plan", "list"], fill: { "'what it is to do'": "do it" } },
  "no secrets": { in: async () => ["plan", "secret", "list"], fill: { NAME: "A_SECRET" } },
  "no such plan": { in: async () => ["plan", "show", "wf_zzzz"] },
  "no such setting": { in: async () => ["plan", "config", "get", "zzzzzzzzzz"] },
  "a plan was made": {
    in: async (store) => {
      (store as PlanStore).replies.push(create(planOf({ a: [] })), create(planOf({ a: [] })));
      return ["plan", "new", "do it"];
    },
    fill: { "'what is to change'": "at ten" },
  },
  "the planner asks": {
    in: async (store) => {
      (store as PlanStore).replies.push(ask("which?"), create(planOf({ a: [] })));
      return ["plan", "new", "do it"];
    },
  },
  "a plan that is not confirmed": on(plan, "show"),
  "a plan that is not confirmed is run": on(plan, "run"),
  "a plan that waits for its trigger": on(active, "resume"),
  "a plan that is paused": on(paused, "run"),
  "a plan is paused": on(active, "pause"),
  "a plan is confirmed, and nothing fires it": {
    ...on((store) => plan(store, cron), "confirm"),
    not: { "plan service run": "it goes on until it is ended: plan-service.test.ts" },
  },
  "a plan is run": on(completed, "run"),
  "a plan that is done": on(completed, "retry"),
  "a plan that has failed": on(failed, "run"),
  "a plan that has failed is shown": on(failed, "show"),
  "a plan with a run that goes on": on(executing, "run"),
  "no service": { in: async () => ["plan", "service", "start"] },
};
