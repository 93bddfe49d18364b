import { describe, expect, test } from "bun:test";
import type { RoleOutput } from "@uncaged/workflow";
import { runThread } from "@uncaged/workflow/testing";
import { stepsBundle } from "../src/bundle/bundle.ts";
import { Engine } from "../src/engine/engine.ts";
import type { StepDocument, WorkflowDocument } from "../src/document/format.ts";
import type { Checkpoint } from "../src/state/checkpoint.ts";
import type { Generated } from "./generated/draft.ts";
import { countsOf, endOf, foldOf, runBundle } from "./generated/run.ts";

const listed: WorkflowDocument["registry"] = {
  params: ["three(ARRAY) = [1, 2, 3]"],
  vars: ["$a(OBJECT)", "$b(OBJECT)", "$each(ARRAY)"],
};

const workflow = (
  steps: StepDocument[],
  subflows: Record<string, StepDocument[]> = {},
): Generated => ({
  document: { version: "3.18", name: "small", registry: listed, steps },
  subflows: Object.fromEntries(
    Object.entries(subflows).map(([path, own]) => [
      path,
      { version: "3.18", name: path, registry: listed, steps: own },
    ]),
  ),
  maxConcurrency: 0,
  seed: 1,
  steps: steps.length,
  isTimed: false,
  isSerial: false,
  mayFail: false,
  hasCycles: false,
});

const noop = (id: string, next = "RETURN"): StepDocument => ({ id, next });

const rolesOf = (steps: readonly RoleOutput[]): string => steps.map(({ role }) => role).join(" ");

/** Runs a workflow to its end, and again from each prefix of its log. */
async function resumedEverywhere(generated: Generated): Promise<string> {
  const whole = await runBundle(generated);
  expect(whole).toMatchObject({ status: "completed" });
  for (let kept = 0; kept < whole.steps.length; kept += 1) {
    const again = await runBundle(generated, whole.steps.slice(0, kept));
    expect([kept, countsOf(again.steps)]).toEqual([kept, countsOf(whole.steps)]);
    expect([kept, endOf(generated, again.steps)]).toEqual([kept, endOf(generated, whole.steps)]);
  }
  return rolesOf(whole.steps);
}

describe("a resumed thread", () => {
  test("keeps the answers of several concurrent Pauses", async () => {
    const pause = { id: "Pause_Each", resumeResultTarget: "$each[_index]", next: "RETURN" };
    const loop = { id: "Loop_All", source: "=three", mode: "parallel", next: "RETURN" };
    await resumedEverywhere(workflow([{ ...loop, children: ["Pause_Each"] }, pause]));
  });

  test("asks a Pause with children again when it runs again", async () => {
    const roles = await resumedEverywhere(
      workflow([
        noop("Noop_Start", "Set_Count"),
        { id: "Set_Count", target: "$a.n", value: "=$a.n + 1", next: "Pause_Ask" },
        {
          id: "Pause_Ask",
          resumeResultTarget: "$a.said",
          children: ["Noop_Child"],
          next: "Branch_More",
        },
        noop("Noop_Child"),
        { id: "Branch_More", cases: [["$a.n < 2", "Set_Count"]], next: "RETURN" },
      ]),
    );
    expect(roles.split("__wait__")).toHaveLength(3);
  });

  test("marks a chain of several entries whose last step is skipped with a valid role", async () => {
    const skipped = { id: "Noop_Skipped", if: "false", next: "RETURN" };
    const steps = [noop("Noop_One", "Noop_Skipped"), skipped, noop("Noop_Two")];
    expect(await resumedEverywhere(workflow(steps))).toBe("Noop_One Noop_Two Noop_One");
  });

  test("leaves a loop that a Branch's case broke before the Branch's children finished", async () => {
    const roles = await resumedEverywhere(
      workflow([
        { id: "Loop_Three", source: "=three", children: ["Branch_Out"], next: "RETURN" },
        {
          id: "Branch_Out",
          cases: [["true", "Noop_Out"]],
          children: ["Noop_Child"],
          next: "RETURN",
        },
        noop("Noop_Out", "BREAK"),
        noop("Noop_Child"),
      ]),
    );
    expect(roles).toBe("Noop_Out Branch_Out Noop_Child Branch_Out Loop_Three");
  });

  test("counts a failed step's writes once, whatever concurrent steps commit", async () => {
    const generated = workflow([
      { id: "Noop_Both", children: ["Pause_Beside", "Tool_1_Work"], next: "RETURN" },
      { id: "Pause_Beside", resumeResultTarget: "$a.said", next: "RETURN" },
      {
        id: "Tool_1_Work",
        in: { of: "Tool_1_Work" },
        out: { "$b.calls": "=$b.calls + 1", "$b.bad[$a.missing]": 1 },
        onError: "Set_Handled",
        next: "RETURN",
      },
      { id: "Set_Handled", target: "$b.error", value: "=_error.type", next: "RETURN" },
    ]);
    await resumedEverywhere(generated);
    const { steps } = await runBundle(generated);
    expect(foldOf(generated, steps).variables.$b).toMatchObject({ calls: 1 });
  });
});

test("a Pause is asked after a child's run that a Stop ended among other chains", async () => {
  const generated = workflow(
    [
      { id: "Subflow_Child", in: { workflow_path: "child" }, next: "Pause_After" },
      { id: "Pause_After", resumeResultTarget: "$a.said", next: "RETURN" },
    ],
    {
      child: [
        { id: "Subflow_Inner", in: { workflow_path: "inner" }, next: "RETURN" },
        { id: "Set_Both", target: "$a.n", value: 1, children: ["Stop_Now", "Noop_Beside"] },
        { id: "Stop_Now" },
        noop("Noop_Beside"),
      ],
      inner: [noop("Noop_A"), noop("Noop_B")],
    },
  );
  const { status, steps } = await runBundle(generated);
  expect([status, steps.at(-1)?.role]).toEqual(["completed", "Pause_After"]);
});

describe("a checkpoint", () => {
  async function checkpointsOf({ document }: Generated): Promise<[Engine, Checkpoint[]]> {
    const checkpoints: Checkpoint[] = [];
    const engine = new Engine(document, { onCheckpoint: (one) => checkpoints.push(one) });
    await engine.execute();
    return [engine, checkpoints.slice()];
  }

  test("of a run that a Stop inside a fork ended executes no step", async () => {
    const steps = [
      { id: "Noop_Fork", children: ["Stop_Now"], next: "Set_Never" },
      { id: "Stop_Now" },
      { id: "Set_Never", target: "$a", value: { never: true }, next: "RETURN" },
    ];
    const [engine, [last]] = await checkpointsOf(workflow(steps));
    expect(last?.currentStepID).toBe("RETURN");
    const context = await engine.executeFrom(last as Checkpoint);
    expect(context.snapshot().variables.$a).toBeNull();
  });
});

test("the last of 10,000 iterations takes as long as the first", async () => {
  const { run } = stepsBundle({
    version: "3.18",
    name: "long",
    registry: {
      params: [`list(ARRAY) = ${JSON.stringify(Array.from({ length: 10_000 }, (_, at) => at))}`],
      vars: ["$each(ARRAY)"],
    },
    steps: [
      { id: "Loop_Long", source: "=list", children: ["Set_Each"], next: "RETURN" },
      { id: "Set_Each", target: "$each[_index]", value: "=_item", next: "RETURN" },
    ],
  });
  const { status, steps } = await runThread(run, { maxRounds: 100_000 });
  expect([status, steps.length]).toEqual(["completed", 10_001]);
  const sizes = steps.slice(0, -1).map((step) => JSON.stringify(step).length);
  expect((sizes.at(-1) as number) - (sizes[0] as number)).toBeLessThan(60);
}, 180_000);
