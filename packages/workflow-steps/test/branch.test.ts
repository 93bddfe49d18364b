import { expect, test } from "bun:test";
import type { StepDocument } from "../src/entry/index.ts";
import { flow, ran } from "./ran.ts";

const vars = ["$n(INT)", "$seen(ARRAY) = []"];
const seen = (id: string, next = "RETURN"): StepDocument => ({
  id,
  target: "$seen[$seen.length]",
  value: id,
  next,
});

/** Returns a workflow with a Branch on `$n`, one Set in each case and one Set after the Branch. */
const branching = (n: number | null, more: Partial<StepDocument> = {}) =>
  flow(
    [
      { id: "Set_N", target: "$n", value: n, next: "Branch_A" },
      {
        id: "Branch_A",
        cases: [
          ["$n > 10", "Set_High"],
          ["=$n > 5", "Set_Middle"],
          ["$n > 7", "Set_Never"],
        ],
        next: "Set_End",
        ...more,
      },
      seen("Set_High", "Set_High2"),
      seen("Set_High2"),
      seen("Set_Middle"),
      seen("Set_Never"),
      seen("Set_End", "Stop_A"),
      { id: "Stop_A" },
    ],
    { vars },
  );

test("the first true case runs to its end, then the step after the Branch runs", async () => {
  const { variables, payloads, started, of } = await ran(branching(8));
  expect(variables.$seen).toEqual(["Set_Middle", "Set_End"]);
  expect(payloads("step_done", "Branch_A")).toEqual([{ outputs: null, selected: "Set_Middle" }]);
  expect(started).toEqual(["Set_N", "Branch_A", "Set_Middle", "Set_End", "Stop_A"]);
  expect([of("Set_High"), of("Set_Never")]).toEqual(["", ""]);
});

test("a Branch is done when the chain of its case has ended", async () => {
  const { events } = await ran(branching(11));
  const done = events.filter(({ type }) => type === "step_done").map(({ stepID }) => stepID);
  expect(done).toEqual(["Set_N", "Set_High", "Set_High2", "Branch_A", "Set_End", "Stop_A"]);
});

test("without a true case and without ELSE, the run continues after the Branch", async () => {
  const { variables, payloads } = await ran(branching(null));
  expect(variables.$seen).toEqual(["Set_End"]);
  expect(payloads("step_done", "Branch_A")).toEqual([{ outputs: null, selected: null }]);
});

test("a case that can't be evaluated fails the Branch", async () => {
  const { error, of } = await ran(
    branching(1, {
      cases: [
        ["1 / 0", "Set_High"],
        ["$n > 5", "Set_Middle"],
        ["$n > 7", "Set_Never"],
      ],
    }),
  );
  expect(error).toMatchObject({ stepID: "Branch_A" });
  expect(of("Branch_A")).toBe("step_start step_error");
});

test("a step whose `if` is false is skipped with its children, and publishes only the skip", async () => {
  const steps: StepDocument[] = [
    { id: "Noop_A", if: "$n == 1", children: ["Set_A", "Set_B"], print: "no", next: "Set_C" },
    seen("Set_A"),
    seen("Set_B"),
    seen("Set_C", "Loop_A"),
    { id: "Loop_A", if: "=$n", source: [1, 2], children: ["Set_D"], next: "Branch_A" },
    seen("Set_D"),
    { id: "Branch_A", if: "1 == 2", cases: [["ELSE", "Set_E"]], next: "LLM_A" },
    seen("Set_E"),
    { id: "LLM_A", if: "false", in: { prompt: "x" }, out: "$n", next: "Pause_A" },
    { id: "Pause_A", if: "false", resumeResultTarget: "$n", next: "Stop_A" },
    { id: "Stop_A" },
  ];
  const { status, variables, events, of } = await ran(flow(steps, { vars }));
  expect([status, variables.$seen]).toEqual(["stopped", ["Set_C"]]);
  for (const id of ["Noop_A", "Loop_A", "Branch_A", "LLM_A", "Pause_A"]) {
    expect(of(id)).toBe("step_skipped");
  }
  expect(events.find(({ stepID }) => stepID === "Noop_A")?.payload).toEqual({
    condition: "$n == 1",
  });
  expect([of("Set_A"), of("Set_D"), of("Set_E")]).toEqual(["", "", ""]);
});

test("an `if` that can't be evaluated fails its step", async () => {
  const { error, of } = await ran(flow([{ id: "Noop_A", if: "1 / 0", next: "RETURN" }]));
  expect(error).toMatchObject({ stepID: "Noop_A" });
  expect(of("Noop_A")).toBe("step_error");
});

test("a Branch can lead back to an earlier step until a Stop ends the run", async () => {
  const steps: StepDocument[] = [
    { id: "Set_N", target: "$n", value: "=$n + 1", next: "Branch_A" },
    { id: "Branch_A", cases: [["$n < 5", "Set_N"]], next: "Stop_A" },
    { id: "Stop_A", reason: "='at ' + $n" },
  ];
  // A cycle has no first step, so it needs a separate entry.
  const entry: StepDocument = { id: "Set_Start", target: "$n", value: 0, next: "Set_N" };
  const { variables, status, payloads } = await ran(flow([entry, ...steps], { vars }));
  expect([status, variables.$n]).toEqual(["stopped", 5]);
  expect(payloads("step_done", "Branch_A").map(({ selected }) => selected)).toEqual([
    "Set_N",
    "Set_N",
    "Set_N",
    "Set_N",
    null,
  ]);
});

test("a Stop inside a Branch ends the run", async () => {
  const steps: StepDocument[] = [
    { id: "Branch_A", cases: [["ELSE", "Stop_A"]], next: "Set_C" },
    seen("Set_C"),
    { id: "Stop_A" },
  ];
  const { status, events, variables } = await ran(flow(steps, { vars }));
  expect([status, variables.$seen]).toEqual(["stopped", []]);
  expect(events.at(-1)).toMatchObject({ type: "workflow_done", payload: { stop_id: "Stop_A" } });
});
