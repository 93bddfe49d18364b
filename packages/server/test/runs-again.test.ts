import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { moveThread, movingRoot } from "@uncaged/workflow/internal";
import { openLocalHost } from "@uncaged/workflow/host";
import type { RunCheckpoint, RunState, RunValues, ThreadRow } from "../src/entry/api-types.ts";
import { Serving, ServingRoot, stopServing } from "./serving.ts";

let serving: Serving;

beforeAll(async () => {
  serving = await Serving.start();
  await addRounds(serving);
});
afterAll(stopServing, 180_000);

/** A loop with three rounds of two steps each. */
const rounds = {
  version: "3.18",
  name: "rounds",
  registry: {
    params: ["by(INT) = 2"],
    vars: ['$items(ARRAY) = ["a", "b", "c"]', "$out(ARRAY)", "$last(STRING)"],
  },
  steps: [
    { id: "Loop_A", source: "=$items", children: ["Set_Out"], next: "Set_Last" },
    { id: "Set_Out", target: "$out[_index]", value: "=_item + by", next: "Set_Dir" },
    { id: "Set_Dir", target: "$last", value: "=_iterDir", next: "RETURN" },
    { id: "Set_Last", target: "$last", value: "=$out[1]", next: "RETURN" },
  ],
};

async function addRounds(to: Serving): Promise<void> {
  const added = await to.add("rounds", JSON.stringify(rounds), "rounds.json");
  if (!added.ok) throw new Error(await added.text());
}

const get = <Answer>(runID: string, what: string): Promise<Answer> =>
  serving.ok(`/workflow/${runID}/${what}`);
const statusOf = async (runID: string, what: string): Promise<number> =>
  (await serving.fetch(`/workflow/${runID}/${what}`)).status;
const rerun = async (body: object): Promise<string> =>
  (await serving.ok<RunState & { runID: string }>("/workflow/rerun", body)).runID;

async function ran(workflow: string, status: ThreadRow["status"] = "completed"): Promise<string> {
  const id = await serving.run(workflow);
  await serving.until(id, status);
  return id;
}

describe("the checkpoint of a run's first steps", () => {
  test("is the state after these steps, for every number of steps", async () => {
    const runID = await ran("rounds");
    const at = (steps: number) => get<RunCheckpoint>(runID, `checkpoint?steps=${steps}`);
    expect(await at(0)).toMatchObject({ steps: 0, status: "running", variables: { $out: null } });
    expect(await at(3)).toMatchObject({
      steps: 3,
      currentStepID: "Loop_A",
      variables: { $out: ["a2", "b2"], $last: "Loop_A_0" },
      loopProgress: { Loop_A: 1 },
    });
    expect(await at(8)).toEqual(await get<RunCheckpoint>(runID, "checkpoint"));
    const before = await get<RunCheckpoint>(runID, "checkpoint?before=Set_Last");
    expect(await at(7)).toEqual(before);
  });

  test("is refused for too many steps, and for two points in one request", async () => {
    const runID = await ran("rounds");
    expect(await statusOf(runID, "checkpoint?steps=9")).toBe(404);
    expect(await statusOf("01ARZ3NDEKTSV4RRFFQ69G5FAV", "checkpoint?steps=0")).toBe(404);
    for (const wrong of ["steps=-1", "steps=1.5", "steps=x", "steps=1&before=Set_Last"]) {
      expect(await statusOf(runID, `checkpoint?${wrong}`)).toBe(400);
    }
  });
});

describe("a step of a loop's second round", () => {
  const second = 3;

  test("shows the values at the start of the step", async () => {
    const runID = await ran("rounds");
    expect(await get<RunValues>(runID, `values?step=${second}`)).toEqual({
      steps: 2,
      stepID: "Set_Out",
      path: [{ in: "Loop_A", child: "Set_Out", iteration: 1 }],
      within: null,
      params: { by: 2 },
      variables: { $items: ["a", "b", "c"], $out: ["a2"], $last: "Loop_A_0" },
      localVars: { _item: "b", _index: 1, _iterDir: "Loop_A_1" },
    });
    expect(await statusOf(runID, "values?step=9")).toBe(404);
    expect(await statusOf(runID, "values?step=10")).toBe(404);
    expect(await statusOf(runID, "values?step=0")).toBe(400);
    expect(await statusOf(await serving.run("rounds"), "values")).toBe(400);
  });

  test("can be run again in that round, with another item and another param", async () => {
    const threadId = await ran("rounds");
    const source = await serving.until(threadId, "completed");
    const { path, stepID, steps } = await get<RunValues>(threadId, `values?step=${second}`);
    const again = await rerun({
      checkpoint: { threadId, steps },
      stepID,
      path,
      overrides: { _item: "x", by: 7 },
      maxRounds: 500,
    });
    const thread = await serving.until(again, "completed");
    expect(thread).toMatchObject({ forkFrom: { threadId, steps: 2 }, maxRounds: 500 });
    expect(await get<object>(again, "variables")).toMatchObject({
      $out: ["a2", "x7", "c7"],
      $last: "x7",
    });
    expect(await serving.until(threadId, "completed")).toEqual(source);
  });

  test("is refused at a path that the steps don't reach, and no run starts", async () => {
    const threadId = await ran("rounds");
    const checkpoint = { threadId, steps: 4 };
    const body = { checkpoint, stepID: "Set_Out", path: [] as object[] };
    const done = [{ in: "Loop_A", child: "Set_Out", iteration: 1 }];
    const before = (await serving.ok<ThreadRow[]>("/api/threads")).length;
    for (const wrong of [
      { path: done },
      { path: [{ in: "Loop_A" }] },
      { overrides: { $none: 1 } },
      { overrides: { by: "two" } },
      { stepID: "Set_X" },
      { checkpoint: { threadId, steps: 9 } },
    ]) {
      const { status, body: answer } = await serving.ask<{ error: string }>("/workflow/rerun", {
        ...body,
        ...wrong,
      });
      expect({ wrong, status, error: typeof answer.error }).toEqual({
        wrong,
        status: 400,
        error: "string",
      });
    }
    expect(await serving.ok<ThreadRow[]>("/api/threads")).toHaveLength(before);
  });
});

test("a run that has moved to another host can't be run again here", async () => {
  const here = await ServingRoot.start();
  await addRounds(here);
  const threadId = await here.run("rounds");
  await here.until(threadId, "completed");
  const there = openLocalHost({ path: join(here.folder, "there") });
  const ref = await here.host.find(threadId);
  await moveThread(movingRoot(here.host.root, "here"), movingRoot(there.root, "there"), ref);
  const asked = { checkpoint: { threadId, steps: 7 }, stepID: "Set_Last" };
  expect(await here.ask("/workflow/rerun", asked)).toMatchObject({
    status: 409,
    body: { error: expect.stringContaining(`${threadId} has moved to `) },
  });
});

describe("a rerun of an unnamed document", () => {
  const edited = {
    ...rounds,
    steps: rounds.steps.map((step) =>
      step.id === "Set_Last" ? { ...step, value: "='edited ' + $out[1]" } : step,
    ),
  };

  test("continues from a run of the previous version, and keeps its steps", async () => {
    const source = await ran("rounds");
    const checkpoint = { threadId: source, steps: 7 };
    const runID = await rerun({ workflow: edited, checkpoint, stepID: "Set_Last" });
    const { forkFrom } = await serving.until(runID, "completed");
    expect(forkFrom).toMatchObject({ threadId: source });
    expect((await get<RunCheckpoint>(runID, "checkpoint")).variables.$last).toBe("edited b2");
  });

  test("starts one run for a repeated request with the id of its thread", async () => {
    const checkpoint = { threadId: await ran("rounds"), steps: 7 };
    const threadId = "01M8H76W8D8HZJD429ZHE2XHYG";
    const again = { workflow: edited, checkpoint, stepID: "Set_Last", threadId };
    expect([await rerun(again), await rerun(again)]).toEqual([threadId, threadId]);
  });

  test("is refused if it is invalid, or sent together with a name", async () => {
    const checkpoint = { currentStepID: "Set_Last" };
    const invalid = { ...edited, steps: [{ id: "Foo_A" }] };
    const refused = await serving.ask("/workflow/rerun", { workflow: invalid, checkpoint });
    expect(refused).toMatchObject({
      status: 400,
      body: { error: expect.stringContaining("Foo_A") },
    });
    const both = { workflow: edited, workflowName: "rounds", checkpoint };
    expect((await serving.ask("/workflow/rerun", both)).status).toBe(400);
  });
});
