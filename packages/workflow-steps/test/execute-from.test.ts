import { expect, test } from "bun:test";
import type { StepDocument } from "../src/entry/index.ts";
import { flow, ran } from "./ran.ts";

const vars = ["$plan(OBJECT)", "$code(STRING)", "$seen(ARRAY) = []", "$count(INT) = 0"];
const registry = { params: ["projectName(STRING)", "n(INT) = 3"], vars };

const seen = (id: string, next = "RETURN"): StepDocument => ({
  id,
  target: "$seen[$seen.length]",
  value: id,
  next,
});

const generating = flow(
  [
    { id: "Set_Init", target: "$count", value: "=n", next: "LLM_Analyze" },
    {
      id: "LLM_Analyze",
      in: { prompt: "=projectName" },
      out: { $plan: "=_result" },
      next: "LLM_Generate",
    },
    { id: "LLM_Generate", in: { plan: "=$plan" }, out: { $code: "=_result" }, next: "Stop_A" },
    { id: "Stop_A" },
  ],
  registry,
);

/** Returns an `llm` adapter that answers with the number of its call, and the list of its requests. */
function model() {
  const asked: unknown[] = [];
  const llm = {
    async call({ inputs, messages }: { inputs?: unknown; messages: unknown }) {
      asked.push(inputs ?? messages);
      return { content: `answer ${asked.length}` };
    },
  };
  return { asked, llm };
}

test("overrides of variables, locals and params win over the checkpoint", async () => {
  const first = await ran(generating, {
    params: { projectName: "MyApp" },
    adapters: { llm: model().llm },
  });
  const from = { ...first.context.checkpoint(), currentStepID: "LLM_Generate" };
  const { asked, llm } = model();
  const { context } = await ran(generating, {
    adapters: { llm },
    from,
    overrides: { $plan: { page: 2 }, projectName: "Other", _hint: "h" },
  });
  expect(asked).toEqual([{ plan: { page: 2 } }]);
  expect(context.snapshot()).toMatchObject({
    params: { projectName: "Other", n: 3 },
    localVars: { _hint: "h" },
    variables: { $plan: { page: 2 }, $code: "answer 1" },
  });
  expect(first.context.checkpoint().variables.$plan).toBe("answer 1");
});

test("a checkpoint of version 1, without marks, restarts its construct", async () => {
  const document = forked();
  const { started, variables } = await ran(document, {
    from: {
      _type: "vl_workflow_checkpoint",
      _version: 1,
      currentStepID: "Noop_Fork",
      params: {},
      variables: { $seen: ["before"] },
      completedSteps: ["Set_Before", "Set_A"],
    },
  });
  expect(started).toEqual(["Noop_Fork", "Set_A", "Set_B", "Set_C", "Set_A2", "Set_End"]);
  expect(variables.$seen).toHaveLength(6);
});

/** Returns a workflow with a fork of three chains, of which the first has two steps. */
const forked = () =>
  flow(
    [
      seen("Set_Before", "Noop_Fork"),
      { id: "Noop_Fork", children: ["Set_A", "Set_B", "Set_C"], next: "Set_End" },
      seen("Set_A", "Set_A2"),
      seen("Set_A2"),
      seen("Set_B"),
      seen("Set_C"),
      seen("Set_End"),
    ],
    { vars },
  );

test("a step's own work does not run again if a child is marked", async () => {
  const document = flow(
    [
      { id: "Work_Body", children: ["Set_A", "Set_B"], next: "RETURN" },
      seen("Set_A"),
      seen("Set_B"),
    ],
    { vars },
  );
  let bodies = 0;
  const work = { Work_Body: () => void (bodies += 1) };
  const completedBranches = { Work_Body: ["Set_A"] };
  const marked = await ran(document, {
    work,
    from: { currentStepID: "Work_Body", completedBranches },
  });
  expect([bodies, marked.variables.$seen]).toEqual([0, ["Set_B"]]);
  await ran(document, { work, from: { currentStepID: "Work_Body" } });
  expect(bodies).toBe(1);
});

test("a resume inside a fork runs the rest of its chain, the unmarked siblings and the join", async () => {
  const { started, status } = await ran(forked(), {
    from: { currentStepID: "Set_A2", completedBranches: { Noop_Fork: ["Set_B"] } },
  });
  expect(started.toSorted()).toEqual(["Noop_Fork", "Set_A2", "Set_C", "Set_End"]);
  expect([started.at(-1), status]).toEqual(["Set_End", "completed"]);
});

test("a resume inside a loop continues the iteration, then runs the later iterations", async () => {
  const document = flow(
    [
      { id: "Loop_A", source: ["a", "b", "c"], children: ["Set_A"], next: "RETURN" },
      seen("Set_A", "Set_Item"),
      { id: "Set_Item", target: "$seen[$seen.length]", value: "=_item + _index", next: "RETURN" },
    ],
    { vars },
  );
  const { variables } = await ran(document, {
    from: { currentStepID: "Set_Item", loopProgress: { Loop_A: 1 } },
  });
  expect(variables.$seen).toEqual(["b1", "Set_A", "c2"]);
});

test("a step in several constructs is refused, and the error lists them", async () => {
  const document = flow(
    [
      { id: "Noop_Fork", children: ["Set_A"], next: "Noop_Other" },
      { id: "Noop_Other", children: ["Set_A"], next: "RETURN" },
      seen("Set_A"),
    ],
    { vars },
  );
  const failure = ran(document, { from: { currentStepID: "Set_A" } });
  expect(failure).rejects.toMatchObject({
    code: "STEP_AMBIGUOUS",
    message: expect.stringMatching(/Noop_Fork.*Noop_Other/),
  });
});

test("a resume of a completed run executes no step", async () => {
  const first = await ran(forked());
  const { started, events, status } = await ran(forked(), { from: first.context.checkpoint() });
  expect(started).toEqual([]);
  expect(events.map(({ type }) => type)).toEqual(["workflow_start", "workflow_done"]);
  expect(status).toBe("completed");
});

test("marks apply to the first time that a construct runs, not to the next", async () => {
  const document = flow(
    [
      { id: "Loop_A", source: [0, 1, 2], children: ["Noop_Fork"], next: "RETURN" },
      { id: "Noop_Fork", children: ["Set_A", "Set_B"], next: "RETURN" },
      seen("Set_A"),
      seen("Set_B"),
    ],
    { vars },
  );
  const { variables } = await ran(document, {
    from: {
      currentStepID: "Loop_A",
      loopProgress: { Loop_A: 1 },
      completedBranches: { Noop_Fork: ["Set_A"] },
    },
  });
  expect(variables.$seen).toEqual(["Set_B", "Set_A", "Set_B"]);
});

test("marks of a fork in several concurrent iterations are ignored", async () => {
  const document = flow(
    [
      { id: "Loop_A", source: [0, 1], mode: "parallel", children: ["Noop_Fork"], next: "RETURN" },
      { id: "Noop_Fork", children: ["Set_A", "Work_B"], next: "Loop_In" },
      { id: "Set_A", if: "_index == 1", target: "$plan.a[_index]", value: 1, next: "RETURN" },
      { id: "Work_B", out: { "$plan.b[_index]": 1 }, next: "Set_A0" },
      { id: "Set_A0", target: "$plan.c[_index]", value: 1, next: "RETURN" },
      { id: "Loop_In", source: [0, 1, 2], children: ["Set_In"], next: "RETURN" },
      { id: "Set_In", target: "$plan.in[_index]", value: 1, next: "RETURN" },
    ],
    { vars },
  );
  const whole = await ran(document);
  for (const from of whole.checkpoints) {
    const again = await ran(document, { from, overrides: { $plan: null } });
    if (from.currentStepID !== "Loop_A" || from.loopProgress.Loop_A === 2) continue;
    expect(again.variables).toEqual(whole.variables);
  }
});

const looped = flow(
  [
    seen("Set_Init", "Loop_A"),
    { id: "Loop_A", source: ["a", "b", "c"], children: ["Set_Item"], next: "Loop_B" },
    { id: "Set_Item", target: "$seen[$seen.length]", value: "=_item", next: "RETURN" },
    { id: "Loop_B", source: [1, 2], children: ["Set_B"], next: "RETURN" },
    { id: "Set_B", target: "$seen[$seen.length]", value: "=_item", next: "RETURN" },
  ],
  { vars },
);

test("a rerun before a completed loop runs the loop again", async () => {
  const first = await ran(looped);
  const checkpoint = { ...first.context.checkpoint(), currentStepID: "Set_Init" };
  expect(checkpoint.loopProgress).toEqual({ Loop_A: 3, Loop_B: 2 });
  const { variables } = await ran(looped, { from: checkpoint, overrides: { $seen: [] } });
  expect(variables.$seen).toEqual(["Set_Init", "a", "b", "c", 1, 2]);
});

test("a rerun inside a completed loop runs that loop again", async () => {
  const first = await ran(looped);
  const checkpoint = { ...first.context.checkpoint(), currentStepID: "Set_Item" };
  const { variables } = await ran(looped, { from: checkpoint, overrides: { $seen: [] } });
  expect(variables.$seen).toEqual(["a", "b", "c", 1, 2]);
});

test("a resume at a fully marked loop does not run its body", async () => {
  const first = await ran(looped);
  const checkpoint = { ...first.context.checkpoint(), currentStepID: "Loop_A" };
  const { variables } = await ran(looped, { from: checkpoint, overrides: { $seen: [] } });
  expect(variables.$seen).toEqual([1, 2]);
});

test("the caller's marks for a later construct apply when it runs", async () => {
  const { variables } = await ran(looped, {
    from: { currentStepID: "Set_Init", loopProgress: { Loop_A: 2 } },
  });
  expect(variables.$seen).toEqual(["Set_Init", "c", 1, 2]);
});
