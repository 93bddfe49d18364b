import { Database } from "bun:sqlite";
import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import { readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { removeStores } from "../../workflow/test/fixtures/store.ts";
import { until } from "../../workflow/test/fixtures/until.ts";
import type { PlannerOutput } from "../src/entry/index.ts";
import { cron, does, hello, TestHome, workflow } from "./home.ts";
import { plan } from "./parts.ts";

/* Recovery from crashes and from manual changes to the home: each problem is handled exactly once. */
setDefaultTimeout(180_000);
afterAll(removeStores);

/** Makes the given number of active plans of one definition, which share one bundle. */
async function active(
  { plans }: TestHome,
  count: number,
  output: PlannerOutput,
): Promise<string[]> {
  const first = await plans.create(workflow({ ...output, trigger: cron }));
  await plans.confirm(first.id);
  const { bundle } = plans.get(first.id).metadata ?? {};
  const others: string[] = [];
  for (let n = 1; n < count; n += 1) {
    const { id } = await plans.create(workflow({ ...output, trigger: cron }));
    await plans.updateMetadata(id, () => ({ bundle }));
    plans.database.run("UPDATE workflows SET phase = 'active' WHERE id = ?", id);
    others.push(id);
  }
  // Reset the state to the state of plans that were never checked.
  plans.database.run("DELETE FROM trigger_state");
  return [first.id, ...others];
}

const fire = ({ plans }: TestHome, workflowId: string) => {
  const expected = { triggerJson: JSON.stringify(cron), lastResult: null, lastCheckAt: null };
  const state = { last_result: "fired" };
  return plans.fire({ workflowId, expected, state, triggerData: workflowId });
};

test("all processes together start no more runs than the limit", async () => {
  const home = new TestHome({ maxRuns: 2 });
  const ids = await active(home, 5, plan([does("slow", "wait")]));
  for (const id of ids) await fire(home, id);
  const others = Array.from({ length: 3 }, () => home.open({ maxRuns: 2 }));
  const started = await Promise.all(others.map((one) => one.startQueued()));
  expect(started.flat()).toHaveLength(2);
  expect(await home.host.live()).toHaveLength(2);
  const [paused = "", cancelled = ""] = ids.slice(3);
  await home.plans.pause(paused);
  await home.plans.cancel(cancelled);
  expect((await home.plans.show(cancelled)).runs).toMatchObject([{ status: "failed", steps: [] }]);
  writeFileSync(join(home.store.folder, "go"), "");
  await Promise.all(ids.slice(0, 2).map((id) => home.ended(id)));
  expect(await home.plans.startQueued()).toMatchObject([{ workflowId: ids[2] }]);
  await home.ended(ids[2] ?? "");
  expect((await home.host.threads()).rows).toHaveLength(3);
  // A resume starts a run that was paused before its start.
  await home.plans.resume(paused);
  expect((await home.ended(paused)).phase).toBe("active");
});

test("an interrupted run is resumed once, unless its plan is paused; the live run of another process is not touched", async () => {
  const home = new TestHome();
  const ids = await active(home, 3, plan([does("slow", "wait")]));
  for (const id of ids) await fire(home, id);
  await home.plans.startQueued();
  const [first = "", paused = "", live = ""] = ids;
  const begun = () => readdirSync(home.store.folder).includes("calls");
  await until(begun);
  await home.plans.pause(paused);
  await home.store.signalWorkers("SIGKILL");
  await home.plans.show(live);
  const liveRun = home.plans.runs({ workflowId: live })[0]?.id ?? "";
  const env = { ...home.store.env, PATH: process.env.PATH };
  await home.host.control(await home.host.find(liveRun.slice(4)), { kind: "resume", env });
  const { resumed, started } = await home.plans.recover();
  expect([resumed.map(({ workflowId }) => workflowId), started]).toEqual([[first], []]);
  expect((await home.plans.recover()).resumed).toEqual([]);
  expect(home.plans.get(paused).phase).toBe("paused");
  writeFileSync(join(home.store.folder, "go"), "");
  await home.plans.resume(paused);
  for (const id of ids) {
    const { phase, runs } = await home.ended(id);
    expect([phase, runs.length, runs[0]?.status]).toEqual(["active", 1, "completed"]);
  }
});

test("the rows of runs are rebuilt from their logs, byte for byte", async () => {
  const home = new TestHome();
  const { plans } = home;
  const steps = [
    does("bad", "fail-once"),
    does("good", "say good"),
    does("end", "say end", ["bad"]),
  ];
  const { id } = await plans.create(workflow(plan(steps)));
  await plans.confirm(id);
  await home.ended(id);
  await plans.retry(id);
  await home.ended(id);
  const [waiting = ""] = await active(home, 1, plan([does("slow", "wait")]));
  await plans.run(waiting);
  await until(async () => (await plans.show(waiting)).runs[0]?.steps[0]?.status === "running");
  const tables = ["workflow_runs", "step_runs", "sessions"];
  const rows = () =>
    JSON.stringify(
      tables.map((table) => plans.database.rows(`SELECT * FROM ${table} ORDER BY id`)),
    );
  const before = rows();
  for (const drop of [["sessions"], ["sessions", "step_runs"], tables.toReversed()]) {
    for (const table of drop) plans.database.run(`DELETE FROM ${table}`);
    expect(await plans.rebuild()).toEqual({ runs: 3 });
    expect(rows()).toBe(before);
  }
  expect(plans.get(waiting).phase).toBe("executing");
  await plans.cancel(waiting);
});

test("a run without its log fails, a run without its plan continues, and neither is started again", async () => {
  const home = new TestHome();
  const { plans, host } = home;
  const [gone = "", orphan = ""] = await active(home, 2, plan([does("slow", "wait")]));
  const started = [await plans.run(gone), await plans.run(orphan)];
  const [goneRef, orphanRef] = await Promise.all(
    started.map(({ threadId }) => host.find(threadId ?? "")),
  );
  if (!goneRef || !orphanRef) throw new Error("no threads");
  await until(async () => (await plans.show(gone)).runs[0]?.steps[0]?.status === "running");
  await host.remove(goneRef, { force: true });
  const { phase, runs } = await plans.show(gone);
  expect([phase, runs[0]?.error]).toEqual(["active", "the log of its thread is gone"]);
  expect(runs[0]?.steps[0]?.status).toBe("failed");
  const raw = new Database(join(home.home, "plans.db"));
  raw.run("PRAGMA foreign_keys = OFF");
  raw.run("DELETE FROM workflows WHERE id = ?", [orphan]);
  raw.close();
  const ended = await plans.recover();
  expect(ended.started.concat(ended.resumed)).toEqual([]);
  writeFileSync(join(home.store.folder, "go"), "");
  await until(async () => (await plans.refresh()).length === 1);
  expect(plans.findRun(started[1]?.runId ?? "")).toMatchObject({ status: "completed" });
  expect((await plans.list()).map(({ id }) => id)).toEqual([gone]);
  expect(await plans.rebuild()).toEqual({ runs: 1 });
  expect((await host.threads()).rows).toHaveLength(1);
});

test("a missing bundle fails the run with one line, and the plan can be retried when it is back", async () => {
  const home = new TestHome();
  const { plans, store } = home;
  const [id = ""] = await active(home, 1, hello());
  rmSync(join(store.root, "bundles"), { recursive: true });
  expect(plans.run(id)).rejects.toMatchObject({ code: "BUNDLE_MISSING" });
  await until(() => plans.get(id).phase === "active");
  expect((await plans.show(id)).runs).toMatchObject([{ status: "failed", steps: [] }]);
});
