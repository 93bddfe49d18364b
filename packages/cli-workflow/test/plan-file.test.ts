import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { appendFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Plan, type PlanView, planOf, PlanStore } from "./planned.ts";
import { until } from "../../workflow/test/fixtures/until.ts";
import { removeFolders } from "./program.ts";

/* Plans written in files behave like plans that a model makes. */
setDefaultTimeout(180_000);
let store: PlanStore;
beforeAll(async () => void (store = await PlanStore.open()));
afterAll(async () => {
  await store.stop();
  removeFolders();
});

const cron = { type: "cron", expression: "0 9 * * *" };
const metadata = {
  ...{ missed_slots: "skip", fire_on_first_check: true, ticket: 7 },
  container: { timeout: 60_000, additionalMounts: [{ hostPath: "/tmp" }] },
};

function written(name: string, plan: object): string {
  const path = join(store.work, name);
  writeFileSync(path, JSON.stringify(plan));
  return path;
}

test("a plan from a file waits for its confirmation, with its own metadata", async () => {
  const learned = { bundle: { name: "x", hash: "y" }, last_run: {}, draft: { session: "ps_x" } };
  const plan = { ...planOf({ a: [] }, { trigger: cron }), metadata: { ...metadata, ...learned } };
  const path = written("new.json", plan);
  const { workflow } = await store.json<{ workflow: Plan }>(["plan", "new", "--file", path]);
  expect(workflow).toMatchObject({ phase: "awaiting_confirmation", trigger: cron, metadata });
  expect(workflow.metadata).not.toContainAnyKeys(["bundle", "last_run", "draft"]);
  const stdin = JSON.stringify({ ...plan, name: "By stdin" });
  const { stdout, stderr } = await store.run(["plan", "new", "--file", "-"], { stdin });
  expect(stdout).toContain("By stdin");
  expect(stderr).toContain("confirm it: uncaged-workflow plan confirm wf_");
});

test("an error in a plan's file names the file by the given path", async () => {
  const wrong = { ...planOf({ a: [] }), metadata: { missed_slots: "all" } };
  written("wrong.json", wrong);
  const cwd = store.work;
  for (const args of [
    ["plan", "new", "--file", "wrong.json"],
    ["add", "wrong", "wrong.json"],
  ]) {
    const { code, stderr } = await store.run(args, { cwd });
    expect([args[0], code]).toEqual([args[0], 1]);
    expect(stderr).toMatch(
      /^error: (\.\/)?wrong\.json:1:\d+: metadata\.missed_slots: must be one or skip/,
    );
  }
  const both = await store.run(["plan", "new", "text", "--file", "wrong.json"], { cwd });
  expect([both.code, (await store.run(["plan", "new"], { cwd })).code]).toEqual([2, 2]);
});

test("adding a plan with a trigger creates one unconfirmed plan, and later changes it", async () => {
  const plan = planOf({ a: [] }, { trigger: cron, name: "Each morning" });
  const path = written("daily.json", plan);
  const added = await store.json<{ state: string; workflow: Plan }>(["add", "daily", path]);
  expect(added).toMatchObject({ state: "new", workflow: { name: "daily" } });
  const { id } = added.workflow;
  const again = await store.run(["add", "daily", path]);
  expect([again.stdout, again.stderr]).toEqual([
    `${id}\n`,
    expect.stringContaining(`plan confirm ${id}`),
  ]);
  const { stderr } = await store.run(["plan", "confirm", id]);
  expect(stderr).toContain(
    "no process fires its trigger; start one: uncaged-workflow plan service run",
  );
  const later = { ...plan, trigger: { ...cron, expression: "0 10 * * *" } };
  written("daily.json", later);
  const changed = await store.json<{ state: string; workflow: Plan }>(["add", "daily", path]);
  expect(changed).toMatchObject({ state: "changed", workflow: { id, phase: "active" } });
  await store.ok(["plan", "confirm", id]);
  expect((await store.json<PlanView>(["plan", "show", id])).trigger).toMatchObject(later.trigger);
  expect(await store.json(["add", "daily", path])).toMatchObject({ state: "unchanged" });
  const byHand = written("hand.json", planOf({ a: [] }));
  expect(await store.ok(["add", "hand", byHand])).toMatch(/^[0-9A-Z]{13}$/);
});

type ServedPlan = PlanView & { fires: boolean | null; trigger_state: { last_result: string } };

/** Starts a server of the root in a separate process. */
async function serving(flags: string[]) {
  const child = store.start(["serve", "--port", "0", "--json", ...flags], { cwd: store.work });
  const reader = child.stdout.getReader();
  let text = "";
  while (!text.includes("}\n"))
    text += new TextDecoder().decode((await reader.read()).value ?? new Uint8Array());
  const { token, url } = JSON.parse(text) as { token: string; url: string };
  const headers = { Authorization: `Bearer ${token}` };
  const origin = new URL(url).origin;
  return {
    async plan(id: string): Promise<ServedPlan> {
      const answer = await fetch(`${origin}/api/plans/${id}`, { headers });
      return (await answer.json()) as ServedPlan;
    },
    async stop(): Promise<number> {
      child.kill("SIGTERM");
      return await child.exited;
    },
  };
}

test("a server fires the triggers of its root's plans, except with --no-plans", async () => {
  const check_script = "cat items";
  const trigger = { type: "poll", interval_seconds: 1, check_script, diff_mode: "new_items" };
  writeFileSync(join(store.work, "items"), "one\n");
  const { id } = await store.plan({ a: [] }, { trigger });
  await store.ok(["plan", "confirm", id]);
  const idle = await serving(["--no-plans"]);
  expect(await idle.plan(id)).toMatchObject({ fires: false, runs: [] });
  await idle.stop();
  const server = await serving([]);
  await until(async () => (await server.plan(id)).fires === true);
  await until(async () => {
    const { trigger_state } = await server.plan(id);
    return trigger_state?.last_result === "one\n";
  });
  appendFileSync(join(store.work, "items"), "two\n");
  await until(async () => (await server.plan(id)).runs[0]?.status === "completed");
  const { runs } = await server.plan(id);
  expect(runs.map(({ trigger_data }) => trigger_data)).toEqual(["two"]);
  expect(await server.stop()).toBe(0);
});
