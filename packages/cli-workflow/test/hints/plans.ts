import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Database } from "bun:sqlite";
import { ask, create, planOf, type PlanStore, type Started } from "../planned.ts";
import type { Store } from "../program.ts";
import type { Situation } from "./leads.ts";
import { reply } from "./models.ts";

const cron = { type: "cron", expression: "0 9 * * *" };
const daily = { trigger: cron };

/** Creates a plan from a file; the plan waits for its confirmation. Each plan has a unique name, which saves builds. */
async function plan(store: Store, more: object = {}, step = "a"): Promise<string> {
  const { work } = store as PlanStore;
  const name = crypto.randomUUID();
  const path = join(work, `${name}.json`);
  writeFileSync(path, JSON.stringify(planOf({ [step]: [] }, { name, ...more })));
  const words = ["plan", "new", "--file", path];
  const { workflow } = await store.json<{ workflow: { id: string } }>(words, { cwd: work });
  return workflow.id;
}

async function active(store: Store): Promise<string> {
  const id = await plan(store, daily);
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
  const id = await plan(store, {}, "slow");
  (store as PlanStore).mark("waiting", ["slow"]);
  await store.json<Started>(["plan", "confirm", id]);
  return id;
}

async function decided(store: Store): Promise<string> {
  const failure_policy = { on_step_failure: "ask_user", max_retries: 0, retry_delay_ms: 0 };
  const id = await plan(store, { failure_policy });
  (store as PlanStore).mark("broken", ["a"]);
  await store.run(["plan", "confirm", id, "--wait"]);
  (store as PlanStore).mark("broken", []);
  return id;
}

/** A folder with a service manager that accepts every request and does nothing. */
const manager = { PATH: `${join(import.meta.dir, "manager")}:${process.env.PATH}` };

const on = (make: (store: Store) => Promise<string>, ...words: string[]): Situation => ({
  in: async (store) => ["plan", ...words, await make(store)],
});

/** Situations with plans. */
export const plans: Record<string, Situation> = {
  "the list of plans is empty": {
    in: async () => ["plan", "list"],
    fill: { "'what it is to do'": "do it" },
  },
  "the list of credentials is empty": {
    in: async () => ["plan", "secret", "list"],
    fill: { NAME: "A_SECRET" },
    stdin: "x",
  },
  "a plan is missing": { in: async () => ["plan", "show", "wf_zzzz"] },
  "a setting is unknown": { in: async () => ["plan", "config", "get", "zzzzzzzzzz"] },
  "a plan was created": {
    in: async (store) => {
      reply(store, create(planOf({ a: [] })), create(planOf({ a: [] })));
      return ["plan", "new", "do it"];
    },
    fill: { "'what is to change'": "at ten" },
  },
  "the planner asks": {
    in: async (store) => {
      reply(store, ask("which?"), create(planOf({ a: [] })));
      return ["plan", "new", "do it"];
    },
  },
  "the planner fails": {
    in: async (store) => {
      reply(store, create({}), create({}), create({}));
      return ["plan", "new", "do it"];
    },
    first: async (store) => reply(store, create(planOf({ a: [] }))),
  },
  "an unconfirmed plan is shown": on((store) => plan(store), "show"),
  "an unconfirmed plan is run": on((store) => plan(store), "run"),
  "a plan with a trigger is resumed": on(active, "resume"),
  "a paused plan is run": on(paused, "run"),
  "a plan is paused": on(active, "pause"),
  "a plan is confirmed without a service": {
    ...on((store) => plan(store, daily), "confirm"),
    not: { "plan service run": "runs until it is stopped; see plan-service.test.ts" },
  },
  "a plan is run": on(completed, "run"),
  "a completed plan is retried": on(completed, "retry"),
  "a failed plan is run": on(failed, "run"),
  "a failed plan is shown": on(failed, "show"),
  "a plan with an open run is run": on(executing, "run"),
  "a plan with an open run is removed": on(executing, "delete"),
  "a plan with an open run is modified": {
    in: async (store) => ["plan", "modify", await executing(store), "another"],
  },
  "a paused plan is modified": {
    in: async (store) => ["plan", "modify", await paused(store), "another"],
  },
  "a setting gets an empty value": {
    in: async () => ["plan", "config", "set", "agent.model", ""],
  },
  "a plan with an unconfirmed change is shown": {
    in: async (store) => {
      const id = await active(store);
      reply(store, create(planOf({ a: [] }, { trigger: cron, description: "another" })));
      await store.ok(["plan", "modify", id, "another"]);
      return ["plan", "show", id];
    },
  },
  "a plan that waits for a decision is shown": on(decided, "show"),
  "a plan is run after its project changed": {
    in: async (store) => {
      const { work } = store as PlanStore;
      rmSync(join(work, "uncaged.json"), { force: true });
      const id = await active(store);
      writeFileSync(join(work, "uncaged.json"), "{}");
      return ["plan", "run", id];
    },
  },
  "a damaged plan is shown": {
    in: async (store) => {
      const id = await plan(store);
      const database = new Database(join(store.root, "plans/plans.db"));
      database.run("UPDATE workflows SET trigger_json = 'x' WHERE id = ?", [id]);
      database.close();
      return ["plan", "show", id];
    },
  },
  "a plan with a trigger is built": {
    in: async (store) => {
      const file = join(store.folder, "watch.json");
      writeFileSync(file, JSON.stringify(planOf({ a: [] }, daily)));
      return ["build", file, "-o", join(store.folder, "watch.esm.js")];
    },
  },
  "a plan with a trigger is added": {
    in: async (store) => {
      const file = join(store.folder, "watch.json");
      writeFileSync(file, JSON.stringify(planOf({ a: [] }, daily)));
      return ["add", `watch-${crypto.randomUUID().slice(0, 8)}`, file];
    },
  },
  "a listed plan with a trigger is run": {
    in: async (store) => {
      const folder = join(store.folder, "listing");
      mkdirSync(folder, { recursive: true });
      const listed = { root: store.root, workflows: { watcher: "watch.json" } };
      writeFileSync(join(folder, "uncaged.json"), JSON.stringify(listed));
      writeFileSync(join(folder, "watch.json"), JSON.stringify(planOf({ a: [] }, daily)));
      return ["run", "watcher", "--add"];
    },
    cwd: "listing",
  },
  "a setting names a missing variable": {
    in: async (store) => {
      await store.ok(["plan", "config", "set", "telegram.token", "${A_TOKEN}"]);
      return ["plan", "list"];
    },
    stdin: "x",
  },
  "the sandbox is missing": {
    in: async (store) => ["plan", "confirm", await plan(store)],
    env: { UNCAGED_PLAN_SANDBOX_MODE: "bubblewrap", PATH: "/nowhere" },
  },
  "a project's file has a forbidden setting": {
    in: async (store) => {
      const project = join(store.folder, "project");
      mkdirSync(project, { recursive: true });
      writeFileSync(join(project, "uncaged.json"), "{}");
      writeFileSync(join(project, "uncaged.plans.yaml"), "agent: { command: mine }\n");
      return ["plan", "config"];
    },
    first: async (store) => rmSync(join(store.folder, "project/uncaged.plans.yaml")),
    fill: { "<value>": "mine" },
    env: { UNCAGED_WORKFLOW_STORAGE_ROOT: "" },
    cwd: "project",
  },
  "the service is not installed": {
    in: async () => ["plan", "service", "start"],
    env: manager,
  },
  "a service was installed": {
    in: async () => ["plan", "service", "install"],
    env: manager,
    not: { "plan service start": "the system's manager starts it: plan-service.test.ts" },
  },
  "the machine has no service manager": {
    in: async () => ["plan", "service", "install"],
    env: { PATH: "/nowhere" },
    not: { "plan service run": "runs until it is stopped; see plan-service.test.ts" },
  },
  "a second service is started": {
    in: async (store) => {
      const service = store.start(["plan", "service", "run"]);
      for await (const text of service.stderr)
        if (new TextDecoder().decode(text).includes("Ctrl-C")) break;
      return ["plan", "service", "run"];
    },
    env: manager,
  },
  "no service runs": {
    in: async (store) => {
      rmSync(join(store.folder, "home/.config"), { recursive: true, force: true });
      return ["plan", "service"];
    },
    not: { "plan service run": "runs until it is stopped; see plan-service.test.ts" },
  },
};
