import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openLocalHost } from "@uncaged/workflow/host";
import { messageOf } from "../../workflow/test/fixtures/until.ts";
import type { WorkflowPhase } from "../src/entry/index.ts";
import { openPlans } from "../src/entry/service.ts";
import { move } from "../src/store/phase.ts";
import { cron, hello, workflow } from "./home.ts";

/* The phases of a plan: only allowed transitions, and only one of several concurrent transitions, succeed. */
const folder = mkdtempSync(join(tmpdir(), "uw-phases-"));
afterAll(() => rmSync(folder, { recursive: true }));
let homes = 0;
const open = (home = join(folder, `home-${(homes += 1)}`)) =>
  openPlans({ host: openLocalHost({ path: join(folder, "root") }), home, env: {}, cwd: folder });

// Copied from the requirements, not from the code.
const allowed: Record<WorkflowPhase, WorkflowPhase[]> = {
  planning: ["awaiting_confirmation"],
  awaiting_confirmation: ["active", "executing", "planning"],
  active: ["executing", "paused"],
  executing: ["active", "completed", "failed", "paused"],
  paused: ["active"],
  completed: [],
  failed: ["executing"],
};
const phases = Object.keys(allowed) as WorkflowPhase[];

test("each transition of the table is allowed, and every other transition is refused with both phases", async () => {
  const { create, database, get } = bound(open());
  const { id } = await create(workflow(hello()));
  const at = "2026-01-01T00:00:00.000Z";
  for (const from of phases) {
    for (const to of phases) {
      database.run("UPDATE workflows SET phase = ?", from);
      const change = () => move(database, id, [from, to], at);
      if (allowed[from].includes(to)) {
        change();
        expect(get(id)).toMatchObject({ phase: to, updated_at: at });
        expect(change).toThrow(`${id} is ${to} and can't become ${to}`);
      } else {
        expect(change).toThrow(`${id} is ${from} and can't become ${to}`);
        expect(get(id).phase).toBe(from);
      }
    }
  }
  expect(() => move(database, "wf_gone", ["active", "paused"], at)).toThrow(
    'no plan "wf_gone" found',
  );
});

test("one of several processes wins a concurrent transition", async () => {
  const { create, database, home } = bound(open());
  const { id } = await create(workflow(hello({ trigger: cron })));
  database.run("UPDATE workflows SET phase = 'active'");
  const program = new URL("./programs/moves.ts", import.meta.url).pathname;
  const rounds = 25;
  const movers = Array.from({ length: 3 }, () =>
    Bun.spawn([process.execPath, program, home, id, String(rounds)], { stdout: "pipe" }),
  );
  const won = await Promise.all(
    movers.map(async (one) => JSON.parse(await new Response(one.stdout).text()) as number[]),
  );
  // In each round, one process fires the plan. The next round begins when its run has ended.
  expect(won.flat().toSorted((a, b) => a - b)).toEqual(Array.from({ length: rounds }, (_, n) => n));
  expect(database.rows("SELECT count(*) AS n FROM workflow_runs")).toEqual([{ n: rounds }]);
}, 180_000);

test("an invalid plan is neither added nor stored in place of another plan", async () => {
  const { create, get, replace } = bound(open());
  const plan = workflow(hello());
  const cyclic = { ...plan, steps: plan.steps.map((one) => ({ ...one, depends_on: [one.id] })) };
  expect(await messageOf(create(cyclic))).toMatch(/hello/);
  expect(await messageOf(create({ ...plan, phase: "active" }))).toContain("can't become active");
  await create(plan);
  expect(await messageOf(create(plan))).toContain(`plan ${plan.id} already exists`);
  expect(await messageOf(replace(cyclic))).toMatch(/hello/);
  const metadata = { ...plan.metadata, cwd: "/elsewhere", bundle: { name: "x", hash: "y" } };
  const changed = await replace({ ...plan, name: "Another name", metadata });
  expect(changed).toMatchObject({ phase: "awaiting_confirmation", name: "Another name" });
  // A user can't set metadata that the program fills in.
  expect(changed.metadata).toEqual({ cwd: "/elsewhere", sandbox: "off" });
  expect(get(plan.id)).toEqual(changed);
});

test("a plan is found by each unique prefix of its id", async () => {
  const { create, get } = bound(open());
  for (const id of ["wf_abc1", "wf_abc2", "wf_b_z"]) await create(workflow(hello(), { id }));
  expect(["wf_b", "b", "b_z"].map((text) => get(text).id)).toEqual(["wf_b_z", "wf_b_z", "wf_b_z"]);
  expect(() => get("abc")).toThrow('"abc" is a prefix of more than one id');
  for (const text of ["", "wf_", "wf_c", "'; --", "%"]) expect(() => get(text)).toThrow("no plan");
});

function bound(plans: ReturnType<typeof open>) {
  return {
    ...{ database: plans.database, home: plans.home },
    create: plans.create.bind(plans),
    get: plans.get.bind(plans),
    replace: plans.replace.bind(plans),
  };
}
