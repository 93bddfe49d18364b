import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { PlanStore, type Started } from "./planned.ts";
import { removeFolders } from "./program.ts";

let store: PlanStore;
beforeAll(async () => void (store = await PlanStore.open()));
afterAll(async () => {
  await store.stop();
  removeFolders();
});

const keysOf = (value: object): string[] => Object.keys(value).toSorted();
const sorted = (keys: string): string[] => keys.split(" ").toSorted();
const statesOf = (steps: { step_id: string; status: string }[]) =>
  Object.fromEntries(steps.map(({ status, step_id }) => [step_id, status]));

test("the reference's example is planned, confirmed, fails in one step and is retried", async () => {
  const { id } = await store.plan({ a: [], b: ["a"], d: ["b"], c: [] });
  store.mark("broken", ["a"]);
  const started = await store.json<Started>(["plan", "confirm", id]);
  expect(started).toEqual({
    ...{ workflowId: id, phase: "executing" },
    ...{ runId: expect.stringMatching(/^run_/), threadId: expect.stringMatching(/^[0-9A-Z]{26}$/) },
  });
  const failed = await store.untilPhase(id, "failed");
  expect(failed.runs).toHaveLength(1);
  const [first] = failed.runs;
  expect(first).toMatchObject({
    id: started.runId,
    status: "failed",
    error: expect.stringContaining("step a"),
  });
  expect(statesOf(first?.steps ?? [])).toEqual({
    a: "failed",
    b: "skipped",
    d: "skipped",
    c: "succeeded",
  });
  expect(keysOf(first as object)).toEqual(
    sorted("id workflow_id trigger_data status started_at completed_at error duration_ms steps"),
  );
  expect(keysOf(first?.steps[0] as object)).toEqual(
    sorted("id run_id step_id status output_json error started_at completed_at duration_ms"),
  );
  store.mark("broken", []);
  const again = await store.json<Started>(["plan", "retry", id]);
  expect(again.runId).not.toBe(started.runId);
  const done = await store.untilPhase(id, "completed");
  expect(done.runs.map((run) => run.status).toSorted()).toEqual(["completed", "failed"]);
  const whole = done.runs.find((run) => run.id === again.runId);
  expect(whole?.steps.map(({ output_json, step_id }) => [step_id, output_json]).toSorted()).toEqual(
    ["a", "b", "c", "d"].map((step) => [step, JSON.stringify(`done: do ${step}`)]),
  );
  const refused = await store.run(["plan", "retry", id]);
  expect(refused).toMatchObject({ code: 1, stdout: "" });
  expect(refused.stderr).toMatch(/^error: [^\n]*completed[^\n]*executing[^\n]*\n$/);
});

describe("a refusal", () => {
  const refused = async (args: string[], code: number, message: RegExp) => {
    const ended = await store.run(args);
    expect(ended).toMatchObject({ code, stdout: "" });
    expect(ended.stderr).toMatch(/^error: [^\n]+\n$/);
    expect(ended.stderr).toMatch(message);
  };

  test("because of the plan's phase is one line that names both phases", async () => {
    const { id } = await store.plan({ slow: [] });
    await refused(["plan", "run", id], 1, /awaiting_confirmation.*executing/);
    await refused(["plan", "pause", id], 1, /awaiting_confirmation.*paused/);
    store.mark("waiting", ["slow"]);
    await store.ok(["plan", "confirm", id]);
    await refused(["plan", "confirm", id], 1, /executing/);
    await refused(["plan", "delete", id], 1, /executing.*cancel its run first/);
    await refused(["plan", "modify", id, "more"], 1, /executing/);
    await store.ok(["plan", "pause", id]);
    await refused(["plan", "run", id], 1, /paused.*executing/);
    await refused(["plan", "modify", id, "more"], 1, /paused/);
    store.mark("waiting", []);
    await store.ok(["plan", "resume", id]);
    await store.untilPhase(id, "completed");
    await store.ok(["plan", "delete", id]);
    await refused(["plan", "show", id], 4, /no plan ".*" found/);
  });

  test("of an invalid id or argument is one line", async () => {
    for (const id of ["nothing", "", "wf_", "../x", "x".repeat(300), "%"]) {
      await refused(["plan", "show", id], 4, /no plan ".*" found/);
    }
    await refused(["plan", "new", " "], 2, /blank/);
    await refused(["plan", "new"], 2, /give either a text or --file/);
    await refused(
      ["plan", "answer-question", "ps_none", "yes"],
      4,
      /no planner session "ps_none" found/,
    );
    await refused(["plan", "answer", "wf_x", "maybe"], 2, /maybe/);
    await refused(["plan", "answer", "wf_x", "skip"], 4, /no plan "wf_x" found/);
  });
});

test("a command that only reads or that fails creates no plan home", async () => {
  const { PlanStore: Fresh } = await import("./planned.ts");
  const fresh = await Fresh.open();
  const env = { ANTHROPIC_API_KEY: "" };
  for (const args of [["list"], ["show", "x"], ["status"], ["confirm", "x"], ["new", " "]]) {
    await fresh.run(["plan", ...args], { env });
  }
  expect(fresh.tree()).toEqual({});
  expect(readdirSync(fresh.folder)).not.toContain(":memory:");
  expect(await fresh.json(["plan", "tick"])).toEqual({ fired: [], next: null });
  expect((await fresh.run(["plan", "new", "do it"], { env })).code).toBe(1);
  expect(Object.keys(fresh.tree()).filter((path) => path.includes("planner/"))).toEqual([]);
  await fresh.stop();
});

test("the text output of plan show and plan list has tables and the next command", async () => {
  const { id } = await store.plan(
    { look: [], report: ["look"] },
    { name: "Failing builds", trigger: { type: "cron", expression: "0 9 * * 1-5" } },
  );
  const shown = await store.run(["plan", "show", id]);
  expect(shown.stdout).toMatch(
    /^trigger +cron 0 9 \* \* 1-5 \(UTC\)\nnext +\d{4}-\d\d-\d\dT09:00:00/m,
  );
  expect(shown.stdout).toMatch(/^ {2}report +do report \(after look\)$/m);
  expect(shown.stderr).toBe(`confirm it: uncaged-workflow plan confirm ${id}\n`);
  await store.ok(["plan", "confirm", id, "--wait"]);
  const list = await store.ok(["plan", "list"]);
  expect(list).toMatch(
    new RegExp(`^${id} +active +\\d{4}-.*T09:00:00.* +cron 0 9 .* Failing builds$`, "m"),
  );
});

test("waiting for a run returns the run's exit code", async () => {
  const { id } = await store.plan({ look: [] });
  store.mark("broken", ["look"]);
  const ended = await store.run(["plan", "confirm", id, "--wait", "--json"]);
  expect(ended.code).toBe(1);
  expect(JSON.parse(ended.stdout)).toMatchObject({ workflowId: id, status: "failed" });
  store.mark("broken", []);
});
