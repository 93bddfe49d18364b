import { expect, test } from "bun:test";
import type { Checkpoint, StepDocument, WorkflowDocument } from "../src/entry/index.ts";
import { flow, held, ran, settled } from "./ran.ts";

const vars = [
  "$a(INT)",
  "$b(INT)",
  "$c(INT)",
  "$list(ARRAY) = [1, 2, 3]",
  "$out(OBJECT) = {}",
  "$note(STRING)",
];

const set = (id: string, target: string, value: unknown, next = "RETURN"): StepDocument => ({
  id,
  target,
  value,
  next,
});

const linear = flow(
  [
    set("Set_A", "$a", 1, "Set_B"),
    set("Set_B", "$b", "=$a + 1", "Work_C"),
    { id: "Work_C", out: { $c: "=$b + 1" }, next: "Stop_A" },
    { id: "Stop_A" },
  ],
  { params: ["goal(STRING) = g"], vars },
);

const copied = (checkpoint: Checkpoint): Checkpoint => JSON.parse(JSON.stringify(checkpoint));

test("a checkpoint has the documented form, as JSON", async () => {
  const { checkpoints, context } = await ran(linear, { params: { goal: "x" } });
  const [first] = checkpoints;
  expect(first).toEqual({
    _type: "vl_workflow_checkpoint",
    _version: 2,
    workflowID: context.workflowID,
    currentStepID: "Set_B",
    status: "running",
    params: { goal: "x" },
    paramTypes: { goal: "STRING" },
    variables: { $a: 1, $b: null, $c: null, $list: [1, 2, 3], $out: {}, $note: null },
    varTypes: {
      $a: "INT",
      $b: "INT",
      $c: "INT",
      $list: "ARRAY",
      $out: "OBJECT",
      $note: "STRING",
    },
    localVars: {},
    artifacts: {},
    completedSteps: ["Set_A"],
    completedBranches: {},
    loopProgress: {},
    eventSeq: 4,
    version: "3.18",
    createdAt: expect.stringMatching(/^\d{4}-.*Z$/),
  });
  expect(copied(first as Checkpoint)).toEqual(first as Checkpoint);
});

test("a checkpoint follows each finished step and names the next step", async () => {
  const { checkpoints } = await ran(linear);
  expect(checkpoints.map((one) => [one.completedSteps.at(-1), one.currentStepID])).toEqual([
    ["Set_A", "Set_B"],
    ["Set_B", "Work_C"],
    ["Work_C", "Stop_A"],
    ["Stop_A", "RETURN"],
  ]);
});

test("a checkpoint does not change with later steps, and changing it does not change the run", async () => {
  const document = flow(
    [
      set("Set_A", "$out.a", { deep: [1] }, "Set_B"),
      set("Set_B", "$out.a.deep[1]", 2, "Set_C"),
      set("Set_C", "$b", "=$out.a.deep.length", "RETURN"),
    ],
    { vars },
  );
  const texts: string[] = [];
  const { checkpoints, variables } = await ran(document, {
    onCheckpoint: (checkpoint) => {
      texts.push(JSON.stringify(checkpoint.variables));
      (checkpoint.variables.$out as Record<string, unknown>).a = "spoiled";
      checkpoint.completedSteps.push("Set_Z");
    },
  });
  expect(variables).toMatchObject({ $out: { a: { deep: [1, 2] } }, $b: 2 });
  expect(texts[0]).toContain('"deep":[1]');
  expect(checkpoints.at(-1)?.completedSteps).toEqual(["Set_A", "Set_B", "Set_C", "Set_Z"]);
});

test("a checkpoint lists each completed step once, however often the step ran", async () => {
  const document = flow(
    [
      { id: "Loop_A", source: "=$list", children: ["Set_A"], next: "RETURN" },
      set("Set_A", "$a", "=_item"),
    ],
    { vars },
  );
  const { context } = await ran(document);
  expect(context.checkpoint().completedSteps).toEqual(["Set_A", "Loop_A"]);
});

test("inside constructs, a checkpoint names the outermost construct", async () => {
  const { checkpoints } = await ran(nested);
  const within = checkpoints.filter(({ currentStepID }) => currentStepID === "Loop_Out");
  expect(within.length).toBeGreaterThan(10);
  expect(new Set(checkpoints.map(({ currentStepID }) => currentStepID))).toEqual(
    new Set(["Loop_Out", "Noop_Wide", "Loop_Par", "Set_End", "Stop_A", "RETURN"]),
  );
});

/** Nested constructs. Repeating a step does not change the result. */
const nested: WorkflowDocument = flow(
  [
    set("Set_Begin", "$a", 1, "Loop_Out"),
    { id: "Loop_Out", source: "=$list", children: ["Branch_A"], next: "Noop_Wide" },
    {
      id: "Branch_A",
      cases: [
        ["_item == 2", "Noop_Fork"],
        ["ELSE", "Set_Other"],
      ],
      next: "Loop_In",
    },
    set("Set_Other", "$out.other[_index]", "=_item"),
    { id: "Noop_Fork", children: ["Set_L", "Set_R"], next: "RETURN" },
    set("Set_L", "$out.l", "=_item", "Set_L2"),
    set("Set_L2", "$out.l2", "=$out.l + 1"),
    set("Set_R", "$out.r", "=_item"),
    { id: "Loop_In", source: ["x", "y"], children: ["Set_In"], next: "Set_Last" },
    set("Set_In", "$out.in[_index]", "=_item"),
    set("Set_Last", "$out.last", "=_item"),
    {
      id: "Noop_Wide",
      children: ["Set_W1", "Loop_W2", "Noop_Inner"],
      next: "Loop_Par",
    },
    set("Set_W1", "$b", 2, "Set_W1b"),
    set("Set_W1b", "$c", "=$b + 1"),
    { id: "Loop_W2", while: "_index < 3", maxIterations: 9, children: ["Set_W"], next: "RETURN" },
    set("Set_W", "$out.w[_index]", "=_index"),
    { id: "Noop_Inner", children: ["Set_I1", "Set_I2"], next: "Set_I3" },
    set("Set_I1", "$out.i1", 1),
    { id: "Set_I2", if: "$a == 5", target: "$out.i2", value: 1, next: "RETURN" },
    set("Set_I3", "$out.i3", "=$out.i1"),
    {
      id: "Loop_Par",
      source: "=$list",
      mode: "parallel",
      children: ["Set_P", "Set_Q"],
      next: "Set_End",
    },
    set("Set_P", "$out.p[_index]", "=_item * 2", "Branch_P"),
    { id: "Branch_P", cases: [["_index == 1", "Set_P1"]], next: "RETURN" },
    set("Set_P1", "$out.p1", true),
    set("Set_Q", "$out.q[_index]", "=_iterDir"),
    set("Set_End", "$note", "done", "Stop_A"),
    { id: "Stop_A" },
  ],
  { vars },
);

test("a run with nested constructs ends in the same way from each of its checkpoints", async () => {
  const whole = await ran(nested);
  expect(whole.variables).toEqual({
    $a: 1,
    $b: 2,
    $c: 3,
    $list: [1, 2, 3],
    $note: "done",
    $out: {
      other: [1, null, 3],
      l: 2,
      l2: 3,
      r: 2,
      in: ["x", "y"],
      last: 3,
      w: [0, 1, 2],
      i1: 1,
      i3: 1,
      p: [2, 4, 6],
      p1: true,
      q: ["Loop_Par_0", "Loop_Par_1", "Loop_Par_2"],
    },
  });
  expect(whole.checkpoints.length).toBeGreaterThan(30);
  for (const checkpoint of whole.checkpoints) {
    const { variables, status, events, context } = await ran(nested, { from: copied(checkpoint) });
    expect(status).toBe(checkpoint.currentStepID === "RETURN" ? "completed" : "stopped");
    expect(variables).toEqual(whole.variables);
    expect(events[0]?.seq).toBe(checkpoint.eventSeq + 1);
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, n) => checkpoint.eventSeq + 1 + n));
    expect(context.checkpoint().variables).toEqual(variables);
  }
});

test("a checkpoint listener that throws or rejects has no effect", async () => {
  for (const onCheckpoint of [
    () => {
      throw new Error("no");
    },
    () => Promise.reject(new Error("no")) as unknown as undefined,
  ]) {
    const { status, variables } = await ran(linear, { onCheckpoint });
    expect([status, variables.$c]).toEqual(["stopped", 3]);
  }
});

test("a variable of ten million characters is in the checkpoint, and is restored", async () => {
  const text = "x".repeat(10_000_000);
  const document = flow(
    [
      { id: "Work_A", out: { $note: "=_result" }, next: "Set_B" },
      set("Set_B", "$a", "=$note.length"),
    ],
    { vars },
  );
  const { checkpoints, variables, payloads } = await ran(document, {
    work: { Work_A: () => text },
  });
  expect([variables.$a, checkpoints[0]?.variables.$note === text]).toEqual([10_000_000, true]);
  expect(payloads("step_done", "Work_A")).toMatchObject([
    { outputs: { $note: { _truncated: true } } },
  ]);
  const again = await ran(document, { from: copied(checkpoints[0] as Checkpoint) });
  expect([again.variables.$a, again.variables.$note === text]).toEqual([10_000_000, true]);
});

test("concurrent writes to one variable give the same checkpoint and memory", async () => {
  const document = flow(
    [
      { id: "Fork_A", children: ["Work_A", "Work_B", "Work_C"], next: "RETURN" },
      { id: "Work_A", next: "RETURN" },
      { id: "Work_B", next: "RETURN" },
      { id: "Work_C", next: "RETURN" },
    ],
    { vars },
  );
  const [first, second, third] = [held(), held(), held()] as const;
  const running = ran(document, {
    work: {
      Work_A: async (context) => {
        context.set(["$out", "a"], { x: 1 }, "Work_A");
        await third.promise;
        context.set(["$out", "a", "x"], 2, "Work_A");
      },
      Work_B: async (context) => {
        context.set(["$out"], { whole: true }, "Work_B");
        await second.promise;
        context.set(["$out", "b"], 2, "Work_B");
      },
      Work_C: async (context) => {
        context.set(["$out", "c"], 3, "Work_C");
        await first.promise;
      },
    },
  });
  for (const turn of [first, second, third]) {
    await settled();
    turn.resolve();
  }
  const { context, variables } = await running;
  expect(variables.$out).toEqual({ whole: true, a: { x: 2 }, b: 2, c: 3 });
  expect(context.checkpoint().variables).toEqual(variables);
});
