import type { NumberedStep } from "@uncaged/workflow-server/api-types";
import { describe, expect, test } from "bun:test";
import { draftAt, forkOf, problemsIn, rerunOf } from "./fork.ts";

const step = (number: number, role: string, meta = {}): NumberedStep => ({
  number,
  role,
  content: `content ${number}`,
  meta,
  timestamp: number,
});
const begun = { prompt: "p", params: { file: "a" } };
const steps = [step(1, "planner", { plan: "a" }), step(2, "coder"), step(3, "tester")];

describe("a fork", () => {
  test("keeps the chosen step; a rerun runs it again", () => {
    const fork = { kind: "fork", number: 2 } as const;
    const rerun = { kind: "rerun", number: 2 } as const;
    const draft = draftAt(fork, steps, begun);
    expect(draft).toMatchObject({ prompt: "p", content: "content 2" });
    expect(forkOf(fork, draft, draft)).toEqual({ keep: { atStep: 2 } });
    expect(draftAt(rerun, steps, begun).meta).toBe('{\n  "plan": "a"\n}');
    expect(forkOf(rerun, draft, draft)).toEqual({ keep: { atStep: 1 } });
  });

  test("sends only changed values", () => {
    const point = { kind: "fork", number: 1 } as const;
    const before = draftAt(point, steps, begun);
    const edit = { prompt: "q", meta: '{"plan": "b"}', params: '{"file": "b"}' };
    const after = { ...before, ...edit, on: "h2", maxRounds: "9" };
    expect(forkOf(point, before, after)).toEqual({
      keep: { atStep: 1 },
      prompt: "q",
      params: { file: "b" },
      edit: { meta: { plan: "b" } },
      on: "h2",
      maxRounds: 9,
    });
  });

  test("can start before the first step, and at a failure after the last step", () => {
    const first = { kind: "rerun", number: 1 } as const;
    const draft = draftAt(first, steps, begun);
    expect(draft).toMatchObject({ content: "", meta: "{}" });
    expect(forkOf(first, draft, draft)).toEqual({ keep: { atStep: 0 } });
    const failed = { kind: "rerun", number: 4 } as const;
    expect(draftAt(failed, steps, begun).content).toBe("content 3");
    expect(forkOf(failed, draft, draft)).toEqual({ keep: { atStep: 3 } });
  });

  test("reports invalid input", () => {
    const draft = draftAt({ kind: "fork", number: 1 }, steps, { prompt: "p" });
    expect(problemsIn(draft, draft)).toEqual({});
    const bad = { ...draft, meta: "[]", params: "{", maxRounds: "0" };
    expect(Object.keys(problemsIn(draft, bad))).toEqual(["meta", "params", "maxRounds"]);
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
