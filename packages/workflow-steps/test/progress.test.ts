import { describe, expect, test } from "bun:test";
import { type StepDocument, stepsBundle } from "../src/entry/index.ts";
import {
  planRerun,
  recordedCheckpoint,
  recordedSnapshot,
  type RecordedThread,
} from "../src/entry/threads.ts";
import { flow as again, numberOf, set, Trial } from "./again.ts";
import { flow, ran } from "./ran.ts";

const vars = [
  "$n(INT) = 0",
  "$a(ARRAY) = []",
  "$m(OBJECT)",
  "$list(ARRAY) = []",
  "$answer(OBJECT)",
];

describe("a checkpoint inside a Branch's arm", () => {
  const document = flow(
    [
      { id: "Set_N", target: "$n", value: 0, next: "Branch_A" },
      {
        id: "Branch_A",
        cases: [
          ["$n == 0", "Work_Add"],
          ["ELSE", "Stop_End"],
        ],
        next: "Work_After",
      },
      { id: "Work_Add", out: { $n: "=$n + 1" }, next: "Work_Generate" },
      { id: "Work_Generate", next: "RETURN" },
      { id: "Stop_End" },
      { id: "Work_After", next: "RETURN" },
    ],
    { vars },
  );

  test("continues at the step in the arm, without testing the cases again", async () => {
    const first = await ran(document, {
      work: {
        Work_Generate: () => {
          throw new Error("no model");
        },
      },
    });
    expect(first.status).toBe("failed");
    const from = first.context.checkpoint();
    expect(from.currentStepID).toBe("Work_Generate");
    const { started, status, payloads } = await ran(document, { from });
    expect(started).toEqual(["Branch_A", "Work_Generate", "Work_After"]);
    expect(status).toBe("completed");
    expect(payloads("step_done", "Branch_A")).toMatchObject([{ selected: "Work_Add" }]);
  });

  test("continues after the arm when the arm has ended and the Branch has not", async () => {
    const { checkpoints } = await ran(document);
    const from = checkpoints.find(
      ({ completedSteps }) => completedSteps.at(-1) === "Work_Generate",
    );
    if (!from) throw new Error("missing checkpoint after the arm");
    expect(from.completedBranches).toEqual({ Branch_A: ["Work_Add"] });
    const { started, payloads } = await ran(document, { from });
    expect(started).toEqual(["Branch_A", "Work_After"]);
    expect(payloads("step_done", "Branch_A")).toMatchObject([{ selected: "Work_Add" }]);
  });
});

describe("a chain that broke out of its loop", () => {
  const broken = (children: string[], inside: StepDocument[] = []) =>
    flow(
      [
        { id: "Loop_A", while: "_index < 3", maxIterations: 3, children, next: "Set_End" },
        { id: "Noop_Break", next: "BREAK" },
        { id: "Set_Beside", target: "$a[$a.length]", value: "beside", next: "RETURN" },
        ...inside,
        { id: "Set_End", target: "$a[$a.length]", value: "end", next: "RETURN" },
      ],
      { vars },
    );

  test("does not block concurrent chains from continuing after a crash", async () => {
    const trial = new Trial(broken(["Noop_Break", "Set_Beside"]));
    const whole = await trial.run();
    for (const kept of whole.steps.keys()) {
      const { steps } = await trial.run(whole.steps.slice(0, kept));
      expect(steps.map(({ role }) => role)).toEqual(whole.steps.map(({ role }) => role));
    }
  });

  test("is marked as broken in every checkpoint, in an arm and in a fork", async () => {
    const arm: StepDocument = {
      id: "Branch_A",
      cases: [["true", "Noop_Break"]],
      next: "Set_Beside",
    };
    const fork: StepDocument = { id: "Noop_F", children: ["Noop_Break"], next: "Set_Beside" };
    for (const construct of [arm, fork]) {
      const document = broken([construct.id], [construct]);
      const { checkpoints, variables } = await ran(document);
      expect(variables.$a).toEqual(["end"]);
      for (const from of checkpoints) {
        expect((await ran(document, { from })).variables.$a).toEqual(["end"]);
      }
    }
  });
});

describe("the targets of out", () => {
  test("can contain _result, and are resolved once", async () => {
    const { events, status, variables } = await ran(
      flow(
        [
          {
            id: "Work_A",
            out: { "$m.{_result.id}": "=_result.v", "$list[$n]": "=_result.v", $n: "=$n + 1" },
            next: "RETURN",
          },
        ],
        { vars },
      ),
      { work: { Work_A: () => ({ id: "x", v: 7 }) } },
    );
    expect(status).toBe("completed");
    expect(variables).toMatchObject({ $m: { x: 7 }, $list: [7], $n: 1 });
    expect(events.find(({ type }) => type === "step_done")?.payload.outputs).toEqual({
      "$m.{_result.id}": 7,
      "$list[$n]": 7,
      $n: 1,
    });
  });
});

test("a rerun can begin at the step where the arms of a Branch meet", async () => {
  const document = flow(
    [
      {
        id: "Branch_A",
        cases: [
          ["$n == 0", "Set_One"],
          ["ELSE", "Set_Two"],
        ],
        next: "Set_Last",
      },
      { id: "Set_One", target: "$a[$a.length]", value: "one", next: "Set_Both" },
      { id: "Set_Two", target: "$a[$a.length]", value: "two", next: "Set_Both" },
      { id: "Set_Both", target: "$a[$a.length]", value: "both", next: "RETURN" },
      { id: "Set_Last", target: "$a[$a.length]", value: "last", next: "RETURN" },
    ],
    { vars },
  );
  const { variables } = await ran(document, { from: { currentStepID: "Set_Both" } });
  expect(variables.$a).toEqual(["both", "last"]);
});

describe("a rerun from a thread's last checkpoint", () => {
  const list = "$list[$list.length]";
  const items: StepDocument[] = [
    { id: "Loop_A", source: ["a", "b", "c"], children: ["Set_One"], next: "Set_End" },
    set("Set_One", list, "=_item + $n", "Set_Two"),
    set("Set_Two", list, "=_item + '!'"),
    set("Set_End", list, "end"),
  ];

  async function rerunAt(steps: StepDocument[], stepID: string, overrides = {}) {
    const trial = new Trial(again(steps, vars));
    const thread = await trial.run();
    const checkpoint = { ...recordedCheckpoint(trial, thread), variables: { $n: 1, $list: [] } };
    const plan = planRerun(trial, thread, { checkpoint, stepID, overrides });
    const numbers = plan.steps ?? thread.steps.slice(0, plan.kept).map((_, index) => index);
    const kept = numbers.map((number) => thread.steps[number] as RecordedThread["steps"][number]);
    const rerun = await trial.run([...kept, { role: "__input__", ...plan.input }]);
    return {
      roles: rerun.steps.slice(kept.length + 1).map(({ role }) => role),
      list: recordedCheckpoint(trial, rerun).variables.$list,
    };
  }

  test("of a step in a finished loop runs the step in its last iteration", async () => {
    expect(await rerunAt(items, "Set_One")).toEqual({
      roles: ["Set_One", "Set_Two", "Loop_A", "Set_End"],
      list: ["c1", "c!", "end"],
    });
    expect((await rerunAt(items, "Set_Two")).list).toEqual(["c!", "end"]);
  });

  test("of a step in a finished fork does not run its siblings", async () => {
    const forked: StepDocument[] = [
      { id: "Noop_F", children: ["Set_A1", "Set_B1"], next: "Set_End" },
      set("Set_A1", "$m.a", 1, "Set_A2"),
      set("Set_A2", list, "a"),
      set("Set_B1", "$m.b", 1, "Set_B2"),
      set("Set_B2", list, "b"),
      set("Set_End", list, "end"),
    ];
    for (const id of ["Set_A1", "Set_B1"]) {
      const other = id === "Set_A1" ? "b" : "a";
      const { roles } = await rerunAt(forked, id);
      expect(roles).toEqual([id, id.replace("1", "2"), "Noop_F", "Set_End"]);
      expect(roles.join()).not.toContain(`Set_${other.toUpperCase()}`);
    }
  });

  test("of a step in a parallel loop runs only that iteration", async () => {
    const parallel = [{ ...items[0], mode: "parallel" } as StepDocument, ...items.slice(1)];
    const { roles } = await rerunAt(parallel, "Set_Two");
    expect(roles).toEqual(["Set_Two", "Loop_A", "Set_End"]);
  });

  test("records the step where it begins", async () => {
    const trial = new Trial(again(items, vars));
    const thread = await trial.run();
    const checkpoint = recordedCheckpoint(trial, thread);
    const { kept, input } = planRerun(trial, thread, { checkpoint, stepID: "Set_Two" });
    expect(input.meta.path).toEqual([{ in: "Loop_A", child: "Set_One", iteration: 2 }]);
    expect(kept).toBe(numberOf(thread, "Set_Two", 3) - 1);
  });
});

describe("the current step", () => {
  test("of a run waiting at a Pause in a fork is the Pause", async () => {
    const { context } = await ran(
      flow(
        [
          { id: "Noop_F", children: ["Work_A", "Pause_B"], next: "RETURN" },
          { id: "Work_A", next: "Work_A2" },
          { id: "Work_A2", next: "RETURN" },
          { id: "Pause_B", resumeResultTarget: "$answer", next: "RETURN" },
        ],
        { vars },
      ),
    );
    expect(context.snapshot()).toMatchObject({ status: "paused", currentStepID: "Pause_B" });
  });

  test("of a thread that waits at a Pause in a fork or failed in its chain is the waiting or failed step", async () => {
    const document = flow(
      [
        { id: "Noop_F", children: ["Set_A", "Set_B"], next: "RETURN" },
        { id: "Set_A", target: "$n", value: 1, next: "Work_A" },
        { id: "Work_A", next: "RETURN" },
        { id: "Set_B", target: "$n", value: 2, next: "Pause_B" },
        { id: "Pause_B", resumeResultTarget: "$answer", next: "RETURN" },
      ],
      { vars },
    );
    const documents = { document, subflows: {} };
    const commits = ["A", "B"].map((name) => ({
      role: `Set_${name}`,
      content: "",
      meta: {
        path: [{ in: "Noop_F", child: `Set_${name}` }],
        variables: [],
        artifacts: [],
        next: name === "A" ? "Work_A" : "Pause_B",
        phase: "done",
        eventSeq: 1,
      },
    }));
    const wait = {
      role: "__wait__",
      content: "",
      meta: {
        for: "pause",
        stepID: "Pause_B",
        token: "t",
        path: [{ in: "Noop_F", child: "Set_B" }],
      },
    };
    const thread = { threadId: "T", prompt: "" };
    const known = { elapsedMs: 0, eventSeq: 0 };
    const waiting = { ...thread, steps: [...commits, wait], status: "waiting" };
    expect(recordedSnapshot(documents, waiting, known).currentStepID).toBe("Pause_B");
    const failed = { ...thread, steps: commits, status: "failed" };
    const failing = { ...known, failedStepID: "Pause_B" };
    expect(recordedSnapshot(documents, failed, failing).currentStepID).toBe("Pause_B");
    expect(recordedSnapshot(documents, failed, known).currentStepID).toBe("Work_A");
  });

  test("of a run that failed inside a loop is the failed step", async () => {
    const failing: StepDocument[] = [
      { id: "Loop_A", source: [0, 1, 2], children: ["Work_A"], next: "RETURN" },
      { id: "Work_A", next: "RETURN" },
    ];
    const work = {
      Work_A: (context: { evaluate(text: string): unknown }) => {
        if (context.evaluate("=_index") === 1) throw new Error("no");
      },
    };
    const { context } = await ran(flow(failing, { vars }), { work });
    expect(context.snapshot().currentStepID).toBe("Work_A");
    const bundle = stepsBundle(flow(failing, { vars }), {
      customHandlers: { Work: (run) => work.Work_A(run) },
    });
    const steps = [];
    try {
      for await (const step of bundle.run(
        { prompt: "", steps: [] },
        { threadId: "T", maxRounds: 9 },
      )) {
        steps.push(step);
      }
    } catch {
      // The thread fails at the second iteration.
    }
    const thread = { threadId: "T", prompt: "", steps, status: "failed" };
    const documents = { document: flow(failing, { vars }), subflows: {} };
    const snapshot = recordedSnapshot(documents, thread, { elapsedMs: 0, eventSeq: 0 });
    expect(snapshot.currentStepID).toBe("Work_A");
  });
});
