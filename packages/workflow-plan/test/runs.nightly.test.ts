import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { removeStores } from "../../workflow/test/fixtures/store.ts";
import { until } from "../../workflow/test/fixtures/until.ts";
import type { PlannerOutput, Workflow } from "../src/entry/index.ts";
import { cron, does, hello, TestHome, workflow } from "./home.ts";
import { plan } from "./parts.ts";

/* Actions of users and crashes during runs. All plans share one home, which a second process has open too. */
setDefaultTimeout(180_000);
afterAll(removeStores);
const home = new TestHome();
const { host, plans, store } = home;
const other = home.open();

/** Adds a plan whose agents work in their own folder. */
async function added(output: PlannerOutput, more: Partial<Workflow> = {}) {
  const made = workflow(output, more);
  const cwd = join(store.folder, made.id);
  mkdirSync(cwd, { recursive: true });
  const { id } = await plans.create({ ...made, metadata: { cwd } });
  return { id, go: () => writeFileSync(join(cwd, "go"), ""), calls: () => callsIn(cwd) };
}

function callsIn(folder: string): string[] {
  const path = join(folder, "calls");
  const text = existsSync(path) ? readFileSync(path, "utf8").trimEnd() : "";
  return text
    .split("\n")
    .filter(Boolean)
    .map((line) => (JSON.parse(line) as { words: string }).words);
}

const lastRun = async (id: string) => (await plans.show(id)).runs[0];
const refOf = async (id: string) => await host.find((await lastRun(id))?.id.slice(4) ?? "");
const logOf = async (id: string) => JSON.stringify(store.lines(await refOf(id)));
const waiting = plan([does("slow", "wait"), does("next", "say next", ["slow"])]);
const codeOf = async (act: () => unknown): Promise<string> => {
  try {
    return `no error: ${JSON.stringify(await act())}`;
  } catch (error) {
    const { code, message } = error as { code: string; message: string };
    return `${code}: ${message}`;
  }
};

test("a paused run commits its running steps and starts none, and its end leaves the phase unchanged", async () => {
  const { calls, go, id } = await added(waiting);
  await plans.confirm(id);
  await until(() => calls().length === 1);
  expect((await other.pause(id)).phase).toBe("paused");
  for (const act of [
    () => plans.pause(id),
    () => plans.run(id),
    () => plans.confirm(id),
    () => plans.retry(id),
  ])
    expect(await codeOf(act)).toStartWith(`EXECUTOR_ERROR: ${id} is paused and can't become`);
  go();
  await until(async () => (await lastRun(id))?.steps[0]?.status === "succeeded");
  expect(calls()).toEqual(["wait"]);
  expect((await lastRun(id))?.steps[1]?.status).toBe("pending");
  expect((await plans.resume(id)).phase).toBe("executing");
  expect((await home.ended(id)).phase).toBe("completed");
});

test("a run that ends while its plan is paused leaves it paused, and a resume ends the plan", async () => {
  const { calls, go, id } = await added(plan([does("slow", "wait")]));
  await plans.confirm(id);
  await until(() => calls().length === 1);
  await plans.pause(id);
  go();
  const { phase, runs } = await home.ended(id);
  expect([phase, runs[0]?.status]).toEqual(["paused", "completed"]);
  expect((await plans.resume(id)).phase).toBe("completed");
});

test("a cancelled run and its steps count as failed, and its plan returns to its earlier phase", async () => {
  const { calls, id } = await added({ ...waiting, trigger: cron });
  await plans.confirm(id);
  const { phase, runId } = await plans.run(id, { data: "x".repeat(1_000_000) });
  expect(phase).toBe("executing");
  expect(await codeOf(() => other.run(id))).toContain("is executing and can't become executing");
  expect(await codeOf(() => plans.remove(id))).toContain("is executing and can't be removed");
  await until(() => calls().length === 1);
  expect(await plans.cancel(id)).toMatchObject({ what: "run", workflow: { phase: "active" } });
  const run = await lastRun(id);
  expect(run).toMatchObject({ id: runId, status: "failed", error: "cancelled by user" });
  expect(run?.steps.map(({ status }) => status)).toEqual(["failed", "skipped"]);
  expect(await codeOf(() => plans.cancel(id))).toContain("is active and has no run to cancel");
  const ref = await refOf(id);
  expect(await plans.remove(id)).toEqual({ id });
  expect(await codeOf(() => plans.get(id))).toContain(`no plan "${id}" found`);
  expect((await host.read(ref)).status).toBe("killed");
});

test("a retry repeats the unsuccessful steps, and leaves the old log unchanged", async () => {
  const { calls, id } = await added(
    plan([does("bad", "fail-once"), does("good", "say good"), does("end", "say end", ["bad"])]),
  );
  await plans.confirm(id);
  const failed = await home.ended(id);
  expect(failed.phase).toBe("failed");
  expect(await codeOf(() => plans.run(id))).toContain("is failed and can't become executing");
  const log = await logOf(id);
  const old = failed.runs[0];
  const again = await plans.retry(id);
  const { runs } = await home.ended(id);
  expect(runs.map((run) => run.id)).toEqual([again.runId ?? "", old?.id ?? ""]);
  expect(calls().filter((words) => words === "say good")).toHaveLength(1);
  expect(runs[0]?.steps[1]).toMatchObject({ status: "succeeded", output_json: '"said good"' });
  expect(runs[1]).toEqual(old as never);
  expect(JSON.stringify(store.lines(await host.find(old?.id.slice(4) ?? "")))).toBe(log);
});

test("a draft replaces its plan when it is confirmed, and a retry continues with it", async () => {
  const { calls, id } = await added(plan([does("good", "say good"), does("bad", "fail-once")]));
  await plans.confirm(id);
  const before = await home.ended(id);
  const better = before.steps.map((one) =>
    one.id === "bad" ? { ...one, description: "say fine" } : one,
  );
  const kept = await plans.replace({ ...before, steps: better });
  expect([kept.phase, kept.steps, plans.draft(id)?.steps]).toEqual([
    "failed",
    before.steps,
    better,
  ]);
  expect(await codeOf(() => plans.confirm(id, { planHash: "00000000" }))).toContain("has changed");
  const { phase, runId } = await plans.confirm(id);
  expect([phase, runId, plans.draft(id)]).toEqual(["failed", null, null]);
  const { metadata, steps } = plans.get(id);
  expect(steps).toEqual(better);
  expect(metadata?.bundle?.name).toBe(before.metadata?.bundle?.name ?? "");
  expect(metadata?.bundle?.hash).not.toBe(before.metadata?.bundle?.hash);
  await plans.retry(id);
  expect((await home.ended(id)).phase).toBe("completed");
  expect(calls().toSorted()).toEqual(["fail-once", "say fine", "say good"]);
  const versions = await host.history(metadata?.bundle?.name ?? "");
  expect(versions.map(({ threads }) => threads)).toEqual([1, 1]);
});

test("a question about a failed step is answered once, and only by an allowed decision", async () => {
  const { id } = await added(
    plan([does("bad", "max-turns"), does("next", "say next", ["bad"])], {
      on_step_failure: "ask_user",
    }),
  );
  const { runId } = await plans.confirm(id);
  await until(async () => (await plans.wanted()).length === 1);
  const [wanted] = await plans.wanted();
  expect(wanted).toMatchObject({ workflowId: id, runId, stepId: "bad", expiresAt: null });
  expect(await codeOf(() => plans.answer(id, "maybe"))).toBe(
    'EXECUTOR_ERROR: "maybe" is not a decision',
  );
  expect(await codeOf(() => plans.answer(id, "skip", { stepId: "next" }))).toContain(
    "about bad, not",
  );
  const answers = await Promise.all(
    [plans, other].map((one) => codeOf(() => one.answer(id, "skip", { by: { kind: "terminal" } }))),
  );
  expect(answers.filter((text) => text.startsWith("no error"))).toHaveLength(1);
  const { phase, runs } = await home.ended(id);
  expect([phase, runs[0]?.steps.map(({ status }) => status)]).toEqual([
    "failed",
    ["failed", "skipped"],
  ]);
  expect(await codeOf(() => plans.answer(runId ?? "", "skip"))).toContain(
    "not waiting for a decision",
  );
});

test("plans with the same name have distinct bundle names", async () => {
  const made = Array.from({ length: 3 }, () => added(hello({ name: "Same name", trigger: cron })));
  const ids = (await Promise.all(made)).map(({ id }) => id);
  await Promise.all(ids.map((id, n) => (n % 2 ? plans : other).confirm(id)));
  const names = ids.map((id) => plans.get(id).metadata?.bundle?.name ?? "");
  expect(names.toSorted()).toEqual(["same-name", "same-name-2", "same-name-3"]);
});

test("the folder of a run is removed at its end, or at the recovery from a crash", async () => {
  const cache = join(store.folder, "cache");
  const env = { ...store.env, PATH: process.env.PATH ?? "", XDG_CACHE_HOME: cache };
  const own = home.open({ env });
  const folderOf = (threadId: string | null) => {
    const path = join(cache, "uncaged-workflow/runs", threadId ?? "");
    mkdirSync(join(path, "work"), { recursive: true });
    return path;
  };
  const ended = await added(hello());
  const [cancelled, going] = [await added(waiting), await added(waiting)];
  const left = folderOf((await own.confirm(ended.id)).threadId);
  await home.ended(ended.id);
  mkdirSync(join(left, "homes/hello"), { recursive: true });
  const killed = folderOf((await own.confirm(cancelled.id)).threadId);
  await own.cancel(cancelled.id);
  // Wait, because the worker may still be starting.
  await until(() => !existsSync(killed));
  const needed = folderOf((await own.confirm(going.id)).threadId);
  const foreign = folderOf("01J00000000000000000000000");
  await own.recover();
  expect([left, needed, foreign].map((path) => existsSync(path))).toEqual([false, true, true]);
  going.go();
  await home.ended(going.id);
  expect(existsSync(needed)).toBe(false);
});

test("a run of another program with any id has no folder", async () => {
  const cache = join(store.folder, "other-cache");
  const own = home.open({ env: { ...store.env, XDG_CACHE_HOME: cache } });
  const { id } = await added(hello({ trigger: cron }));
  await own.confirm(id);
  mkdirSync(join(cache, "uncaged-workflow/runs"), { recursive: true });
  const insert =
    "INSERT INTO workflow_runs (id, workflow_id, status, started_at) VALUES (?, ?, 'running', ?)";
  own.database.run(insert, "run_../..", id, new Date().toISOString());
  await own.refresh();
  expect((await lastRun(id))?.status).toBe("failed");
  expect(existsSync(join(cache, "uncaged-workflow/runs"))).toBe(true);
});
