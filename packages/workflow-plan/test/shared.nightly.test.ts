import { expect, test } from "bun:test";
import { openSharedPlans, type Plans, type SharedRows } from "../src/entry/service.ts";
import { triggerStateOf } from "../src/store/trigger-state.ts";
import { workerEnv } from "../src/entry/worker.ts";
import { codeOf, messageOf, until } from "../../workflow/test/fixtures/until.ts";
import { command, cron, hello, TestHome, workflow } from "./home.ts";

/* Plans that several machines share: each machine has its own database, and all commit to the same rows. */

/** Rows in this process. Each answer is delayed, so that machines overtake each other. */
class Rows implements SharedRows {
  readonly #rows = new Map<string, { row: unknown; at: number }>();
  readonly #locks = new Set<string>();
  version = 0;
  refused = 0;

  async since(version: number) {
    await Bun.sleep(Math.random() * 3);
    const isAll = version === 0;
    const found = [...this.#rows].filter(([, { at, row }]) => at > version && (!isAll || row));
    return {
      version: this.version,
      isAll,
      rows: new Map(found.map(([key, { row }]) => [key, row])),
    };
  }

  async commit(after: number, rows: Record<string, unknown>) {
    await Bun.sleep(Math.random() * 3);
    if (after !== this.version) this.refused += 1;
    if (after !== this.version) return false;
    this.version += 1;
    const copy = JSON.parse(JSON.stringify(rows)) as Record<string, unknown>;
    for (const [key, row] of Object.entries(copy)) this.#rows.set(key, { row, at: this.version });
    return true;
  }

  async lock(name: string, onWait: () => void) {
    for (; this.#locks.has(name); await Bun.sleep(5)) onWait();
    this.#locks.add(name);
    return { release: () => void this.#locks.delete(name) };
  }

  get text(): string {
    return JSON.stringify([...this.#rows]);
  }
}

const home = new TestHome();
const { host, store } = home;
const env = {
  ...{ ...store.env, PATH: process.env.PATH ?? "" },
  ...workerEnv({ planHome: home.home, planRoot: store.root }),
};
const open = (rows: Rows, now?: () => number): Promise<Plans> =>
  openSharedPlans({ host, home: home.home, env, cwd: store.folder, runOptions, now }, rows);
const runOptions = { agentCommand: command };

async function ended(plans: Plans, id: string) {
  await until(async () => (await plans.show(id)).runs.every(({ status }) => status !== "running"));
  return await plans.show(id);
}

test("another machine sees a change, and makes the next change", async () => {
  const rows = new Rows();
  const [one, other] = [await open(rows), await open(rows)];
  const { id } = await one.create(workflow(hello()));
  await other.sync();
  expect(other.get(id)).toEqual(one.get(id));
  const changed = await other.replace({ ...other.get(id), name: "Another name" });
  expect(await messageOf(one.confirm(id, { planHash: "0".repeat(8) }))).toContain("has changed");
  await one.sync();
  expect(one.get(id)).toEqual(changed);
  expect(await codeOf(other.remove("wf_none"))).toBe("EXECUTOR_ERROR");
  await one.remove(id);
  expect(await messageOf(other.confirm(id))).toMatch(/no plan ".*" found/);
});

test("of many machines that fire a trigger concurrently, one succeeds, and all get its run", async () => {
  const rows = new Rows();
  const machines = await Promise.all(Array.from({ length: 6 }, () => open(rows)));
  const [first] = machines as [Plans];
  const { id } = await first.create(workflow(hello({ trigger: cron })));
  const triggerJson = JSON.stringify(cron);
  await first.updateMetadata(id, () => ({ bundle: { name: "x", hash: "y" } }));
  await first.confirm(id);
  const { last_check_at, last_result } = (await first.show(id)).trigger_state ?? {};
  const expected = {
    triggerJson,
    lastResult: last_result ?? null,
    lastCheckAt: last_check_at ?? null,
  };
  const fired = await Promise.all(
    machines.map((plans, n) =>
      plans.fire({ workflowId: id, expected, state: { last_result: `${n}` }, triggerData: `${n}` }),
    ),
  );
  const [won, ...others] = fired.filter((one) => one !== null);
  expect(others).toEqual([]);
  for (const plans of machines) {
    await plans.sync();
    expect(plans.runs().map((run) => run.id)).toEqual([won?.runId ?? ""]);
    expect(plans.get(id).phase).toBe("executing");
  }
  expect(rows.refused).toBeGreaterThan(0);
  const [starter] = machines.splice(2, 1) as [Plans];
  expect(await starter.startQueued()).toMatchObject([{ runId: won?.runId }]);
  expect((await ended(first, id)).phase).toBe("active");
  expect(await first.startQueued()).toEqual([]);
});

test("the newest runs of a frequently run plan are kept", async () => {
  const rows = new Rows();
  const plans = await open(rows);
  const { id } = await plans.create(workflow(hello({ trigger: cron })));
  await plans.confirm(id);
  const fire = async (slot: number) => {
    const { last_check_at, last_result } = triggerStateOf(plans.database, id) ?? {};
    const triggerJson = JSON.stringify(cron);
    const expected = {
      triggerJson,
      lastResult: last_result ?? null,
      lastCheckAt: last_check_at ?? null,
    };
    const state = { last_result: `${slot}` };
    await plans.fire({ workflowId: id, expected, state, triggerData: `${slot}` });
    await plans.cancel(id);
  };
  for (let slot = 0; slot < 104; slot += 1) await fire(slot);
  const kept = plans.runs({ since: "" }).map(({ trigger_data }) => Number(trigger_data));
  expect(kept.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 101 }, (_, n) => n + 3));
  const { rows: all } = await rows.since(0);
  expect([...all.keys()].filter((key) => key.startsWith("workflow_runs:")).length).toBe(101);
});
