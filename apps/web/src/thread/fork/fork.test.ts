import type { NumberedStep } from "@uncaged/workflow-server/api-types";
import { describe, expect, test } from "bun:test";
import type { ForkPoint } from "../../lib/threads.ts";
import { forkOf, rerunOf, startOfRoles } from "./fork.ts";

const step = (number: number, role: string, meta = {}): NumberedStep => ({
  number,
  role,
  content: `content ${number}`,
  meta,
  timestamp: number,
});
const begun = { prompt: "p", params: { file: "a" } };
const steps = [step(1, "planner", { plan: "a" }), step(2, "coder"), step(3, "tester")];

const noLimits = { on: "", maxRounds: "" };
const startAt = (point: ForkPoint) => startOfRoles({ threadId: "T", ...begun }, point, steps);
const valuesAt = (point: ForkPoint) => startAt(point).groups.map(({ values }) => values);

describe("a fork", () => {
  test("keeps the chosen step; a rerun runs it again", () => {
    const fork = { kind: "fork", number: 2 } as const;
    expect(valuesAt(fork)).toEqual([
      {
        Params: { file: "a" },
        "Content of step 2, coder": "content 2",
        "Meta of step 2, coder": {},
      },
      { Prompt: "p" },
    ]);
    expect(forkOf(fork, steps[1], {}, noLimits)).toEqual({ keep: { atStep: 2 } });
    const rerun = { kind: "rerun", number: 2 } as const;
    expect(valuesAt(rerun)[0]).toMatchObject({ "Meta of step 1, planner": { plan: "a" } });
    expect(forkOf(rerun, steps[0], {}, noLimits)).toEqual({ keep: { atStep: 1 } });
  });

  test("sends the changed values, and keeps the mark of durable code, which it does not show", () => {
    const point = { kind: "fork", number: 1 } as const;
    const marked = step(1, "planner", { plan: "a", __durable__: { output: 1 } });
    const { groups } = startOfRoles({ threadId: "T", ...begun }, point, [marked]);
    expect(groups[0]?.values["Meta of step 1, planner"]).toEqual({ plan: "a" });
    const changed = {
      "Meta of step 1, planner": { plan: "b" },
      Prompt: "q",
      Params: { file: "b" },
    };
    expect(forkOf(point, marked, changed, { on: "h2", maxRounds: "9" })).toEqual({
      keep: { atStep: 1 },
      prompt: "q",
      params: { file: "b" },
      edit: { meta: { plan: "b", __durable__: { output: 1 } } },
      on: "h2",
      maxRounds: 9,
    });
  });

  test("can start before the first step, and at a failure after the last step", () => {
    const first = { kind: "rerun", number: 1 } as const;
    expect(valuesAt(first)).toEqual([{ Params: { file: "a" } }, { Prompt: "p" }]);
    expect(forkOf(first, undefined, {}, noLimits)).toEqual({ keep: { atStep: 0 } });
    const failed = { kind: "rerun", number: 4 } as const;
    expect(valuesAt(failed)[0]).toMatchObject({ "Content of step 3, tester": "content 3" });
    expect(forkOf(failed, steps[2], {}, noLimits)).toEqual({ keep: { atStep: 3 } });
  });

  test("reports invalid input", () => {
    const { problemOf } = startAt({ kind: "fork", number: 1 });
    const problem = (name: string, text: string) => problemOf(name, { text, isText: false });
    expect(problem("Meta of step 1, planner", "{}")).toBeNull();
    expect(problem("Meta of step 1, planner", "[]")).toContain("must be an object");
    expect(problem("Params", "[]")).toBeNull();
    expect(problem("Params", "{")).toContain("Invalid JSON");
  });
});

describe("a rerun", () => {
  const begin = {
    steps: 4,
    stepID: "Set_A",
    path: [{ in: "Loop_A", child: "Set_A", iteration: 2 }],
    within: null,
    params: {},
    variables: {},
    localVars: {},
  };

  test("names the kept steps, the path and the changed values", () => {
    expect(rerunOf("T", begin, { $a: 1 }, { on: "h2", maxRounds: " 7" })).toEqual({
      checkpoint: { threadId: "T", steps: 4 },
      stepID: "Set_A",
      path: begin.path,
      overrides: { $a: 1 },
      workflowName: "h2",
      maxRounds: 7,
    });
  });

  test("continues at the current steps when the step is unknown", () => {
    const nowhere = { ...begin, stepID: null, path: [] };
    expect(rerunOf("T", nowhere, {}, { on: "", maxRounds: "" })).toEqual({
      checkpoint: { threadId: "T", steps: 4 },
      overrides: {},
    });
  });
});
