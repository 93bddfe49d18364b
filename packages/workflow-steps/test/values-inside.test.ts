import { beforeAll, describe, expect, test } from "bun:test";
import type { StepDocument } from "../src/entry/index.ts";
import type { RecordedThread } from "../src/entry/threads.ts";
import { flow, numberOf, set, Trial } from "./again.ts";

describe("a step of a child workflow", () => {
  const child = flow(
    [
      { id: "Loop_C", source: [1, 2], children: ["Set_C"], next: "Set_D" },
      set("Set_C", "$n", "=$n + _item * by"),
      set("Set_D", "$n", "=$n * 10"),
    ],
    ["$n(INT) = 1"],
    ["by(INT) = 1"],
  );
  const trial = new Trial(
    flow(
      [
        set("Set_A", "$n", 5, "Subflow_A"),
        {
          id: "Subflow_A",
          in: { workflow_path: "child.json", params: { by: "=$n" } },
          out: { $got: "=_result.variables.$n" },
          next: "Set_End",
        },
        set("Set_End", "$n", "=$n + $got"),
      ],
      ["$n(INT) = 0", "$got(INT)"],
    ),
    { "child.json": child },
  );
  let thread: RecordedThread;
  beforeAll(async () => {
    thread = await trial.run();
  });

  test("has the values of that workflow", () => {
    const number = numberOf(thread, "Subflow_A/Set_C", 2);
    expect(trial.values(thread, number)).toMatchObject({
      stepID: "Subflow_A/Set_C",
      within: "Subflow_A",
      params: { by: 5 },
      variables: { $n: 6 },
      localVars: { _item: 2, _index: 1 },
    });
  });

  test("can be rerun with other values, and its parent continues with the result", async () => {
    const number = numberOf(thread, "Subflow_A/Set_C", 2);
    const { roles, variables } = await trial.again(thread, number, { $n: 0, _item: 3 });
    expect(roles).toEqual([
      "Subflow_A/Set_C",
      "Subflow_A/Loop_C",
      "Subflow_A/Set_D",
      "Subflow_A",
      "Set_End",
    ]);
    expect(variables).toEqual({ $got: 150, $n: 155 });
    const loop = numberOf(thread, "Subflow_A/Loop_C");
    expect((await trial.again(thread, loop, { by: 1 })).variables).toEqual({ $got: 40, $n: 45 });
  });

  test("can read only the names of its workflow", async () => {
    const number = numberOf(thread, "Subflow_A/Set_D");
    const wrong = trial.again(thread, number, { $got: 1 });
    expect(await wrong.catch((error: { code: string }) => error.code)).toBe("OVERRIDE_UNKNOWN");
  });

  test("is separate from the step that runs its workflow, which starts the child again", async () => {
    const { roles, variables } = await trial.again(thread, numberOf(thread, "Subflow_A", 2), {
      $n: 1,
    });
    expect(roles).toContain("Subflow_A/Set_C");
    expect(variables).toEqual({ $got: 40, $n: 41 });
  });
});

describe("a step that failed", () => {
  const work: StepDocument = { id: "Work_A", out: { "$out[_index]": "=_result" }, next: "RETURN" };
  const vars = ["$fails(BOOL) = false", "$out(ARRAY)"];

  test("in a loop's second iteration continues there after a fix", async () => {
    const trial = new Trial(
      flow(
        [
          { id: "Loop_A", source: ["a", "b"], children: ["Work_A"], next: "RETURN" },
          { ...work, next: "Set_Fails" },
          set("Set_Fails", "$fails", true),
        ],
        vars,
      ),
    );
    const thread = await trial.run();
    expect(thread.status).toBe("failed");
    const number = thread.steps.length + 1;
    expect(trial.values(thread, number, "Work_A")).toMatchObject({
      steps: number - 1,
      stepID: "Work_A",
      path: [{ in: "Loop_A", child: "Work_A", iteration: 1 }],
      variables: { $fails: true },
      localVars: { _item: "b" },
    });
    const overrides = { $fails: false, _item: "x" };
    const { variables, rerun } = await trial.again(thread, number, overrides, "Work_A");
    expect(variables).toEqual({ $fails: true, $out: ["a", "x"] });
    expect(rerun.status).toBe("completed");
  });

  test("before any commit is also found in its loop", async () => {
    const trial = new Trial(
      flow(
        [{ id: "Loop_A", source: ["a", "b"], children: ["Work_A"], next: "RETURN" }, work],
        ["$fails(BOOL) = true", "$out(ARRAY)"],
      ),
    );
    const thread = await trial.run();
    expect(thread.steps).toEqual([]);
    const { variables } = await trial.again(thread, 1, { $fails: false, _item: "x" }, "Work_A");
    expect(variables).toEqual({ $fails: false, $out: ["x", "b"] });
  });

  test("in a parallel loop is reported without its iteration if several iterations reach it", async () => {
    const trial = new Trial(
      flow(
        [
          { id: "Loop_A", mode: "parallel", source: [1, 2], children: ["Work_A"], next: "RETURN" },
          work,
        ],
        ["$fails(BOOL) = true", "$out(ARRAY)"],
      ),
    );
    const thread = await trial.run();
    expect(trial.values(thread, 1, "Work_A")).toMatchObject({ stepID: null, path: [] });
    const { variables } = await trial.again(thread, 1, { $fails: false }, "Work_A");
    expect(variables).toEqual({ $fails: false, $out: [1, 2] });
  });
});

test("a rerun of a step that handled a failure runs only that step", async () => {
  const trial = new Trial(
    flow(
      [
        { id: "Work_A", onError: "Set_Said", next: "RETURN" },
        set("Set_Said", "$said", "='it failed: ' + $fails"),
      ],
      ["$fails(BOOL) = true", "$said(STRING)"],
    ),
  );
  const thread = await trial.run();
  const { roles, variables } = await trial.again(thread, 1, { $fails: false });
  expect({ roles, variables }).toEqual({
    roles: ["Set_Said"],
    variables: { $fails: false, $said: "it failed: false" },
  });
});

test("a Pause and its answer begin with the question, and no step follows the end", async () => {
  const trial = new Trial(flow([set("Set_A", "$a", 1)], ["$a(INT)"]));
  const thread = await trial.run();
  expect(trial.values(thread, 2)).toBeNull();
  const asked = { for: "pause", stepID: "Pause_A", path: [], token: "t", reason: null };
  const pausing = new Trial(
    flow(
      [
        set("Set_A", "$a", 1, "Pause_A"),
        { id: "Pause_A", resumeResultTarget: "$b", next: "RETURN" },
      ],
      ["$a(INT)", "$b(STRING)"],
    ),
  );
  const steps = [
    ...thread.steps.map((step) => ({ ...step, meta: { ...step.meta, next: "Pause_A" } })),
    { role: "__wait__", content: "", meta: asked },
    { role: "__input__", content: "yes", meta: { token: "t" } },
  ];
  const { steps: all } = await pausing.run(steps);
  const whole = { ...thread, steps: all };
  for (const number of [2, 3, 4]) {
    expect(pausing.values(whole, number)).toMatchObject({ steps: 1, stepID: "Pause_A", path: [] });
  }
});
