import { describe, expect, test } from "bun:test";
import type { NumberedStep } from "@uncaged/workflow-server/api-types";
import { draftAt, forkOf, problemsIn } from "./fork.ts";
import { changesIn, declaredIn, variablesAfter } from "./variables.ts";

const step = (number: number, role: string, meta = {}): NumberedStep => ({
  number,
  role,
  content: `content ${number}`,
  meta,
  timestamp: number,
});
const steps = [step(1, "planner", { plan: "a" }), step(2, "coder"), step(3, "tester")];

describe("a fork", () => {
  test("keeps the step that it is asked for at, a rerun does it again", () => {
    const fork = { kind: "fork", number: 2 } as const;
    const rerun = { kind: "rerun", number: 2 } as const;
    const draft = draftAt(fork, steps, "p", null);
    expect(draft).toMatchObject({ prompt: "p", content: "content 2", variables: null });
    expect(forkOf(fork, draft, draft, steps)).toEqual({ keep: { atStep: 2 } });
    expect(draftAt(rerun, steps, "p", null).meta).toBe('{\n  "plan": "a"\n}');
    expect(forkOf(rerun, draft, draft, steps)).toEqual({ keep: { atStep: 1 } });
  });

  test("tells only what was changed", () => {
    const point = { kind: "fork", number: 1 } as const;
    const before = draftAt(point, steps, "p", null);
    const after = { ...before, prompt: "q", meta: '{"plan": "b"}', on: "h2", maxRounds: "9" };
    expect(forkOf(point, before, after, steps)).toEqual({
      keep: { atStep: 1 },
      prompt: "q",
      edit: { meta: { plan: "b" } },
      on: "h2",
      maxRounds: 9,
    });
  });

  test("can begin before the first step", () => {
    const point = { kind: "rerun", number: 1 } as const;
    const draft = draftAt(point, steps, "p", null);
    expect(draft).toMatchObject({ content: "", meta: "{}" });
    expect(forkOf(point, draft, draft, steps)).toEqual({ keep: { atStep: 0 } });
  });

  test("says what is wrong with what was typed", () => {
    const draft = draftAt({ kind: "fork", number: 1 }, steps, "p", null);
    expect(problemsIn(draft)).toEqual({});
    expect(Object.keys(problemsIn({ ...draft, meta: "[]", maxRounds: "0" }))).toEqual([
      "meta",
      "maxRounds",
    ]);
  });
});

describe("a rerun of a step workflow", () => {
  const writes = (...list: [(string | number)[], unknown, number][]) => ({
    variables: list.map(([path, value, seq]) => ({ path, value, seq })),
  });
  const run = [
    step(1, "A", writes([["$b"], 2, 2], [["$a"], { x: [1] }, 1])),
    step(2, "B", writes([["$a", "x", 1], 5, 3], [["$new", "deep"], true, 4])),
    step(3, "C"),
  ];

  test("begins with the variables that stood there, not with later ones", () => {
    expect(variablesAfter(run.slice(0, 1))).toEqual({ $a: { x: [1] }, $b: 2 });
    expect(variablesAfter(run)).toEqual({ $a: { x: [1, 5] }, $b: 2, $new: { deep: true } });
    expect(run[0]?.meta).toMatchObject({ variables: [{}, { value: { x: [1] } }] });
  });

  test("brings the changed ones as overrides", () => {
    const point = { kind: "rerun", number: 2 } as const;
    const before = draftAt(point, run, "p", {});
    const after = { ...before, variables: '{"$a": {"x": [1]}, "$b": 3}' };
    expect(forkOf(point, before, after, run)).toEqual({
      keep: { atStep: 1 },
      input: { content: "rerun of B", meta: { for: "rerun", stepID: "B", overrides: { $b: 3 } } },
    });
    expect(forkOf(point, before, before, run)).toEqual({ keep: { atStep: 1 } });
  });

  test("knows the overrides of a rerun before it", () => {
    const input = step(2, "__input__", { for: "rerun", stepID: "B", overrides: { $b: 9 } });
    expect(variablesAfter([...run.slice(0, 1), input])).toMatchObject({ $b: 9 });
  });

  test("takes those of a rerun's checkpoint, and none that a workflow inside of it has written", () => {
    const inner = { ...writes([["$b"], 100, 9]), path: [{ in: "Subflow_A", run: "r" }] };
    expect(variablesAfter([...run.slice(0, 1), step(2, "Subflow_A/B", inner)])).toMatchObject({
      $b: 2,
    });
    const rerun = { for: "rerun", checkpoint: { variables: { $b: 5 } }, overrides: { goal: "x" } };
    const after = variablesAfter([...run.slice(0, 1), step(2, "__input__", rerun)]);
    expect(after).toEqual({ $a: { x: [1] }, $b: 5 });
  });

  test("knows the variables that no step has written yet", () => {
    const document = JSON.stringify({
      registry: { vars: ["$b(INT) = 7", "$c(OBJECT)", '$t(STRING) = "x = y"', 5] },
    });
    const declared = declaredIn({ stepWorkflow: { document } }) ?? {};
    expect(declared).toEqual({ $b: 7, $c: null, $t: "x = y" });
    expect(variablesAfter(run.slice(0, 1), declared)).toMatchObject({ $b: 2, $c: null });
    expect(declaredIn({ description: "no step workflow" })).toBeNull();
  });

  test("is not led to what all objects share", () => {
    variablesAfter([step(1, "A", writes([["__proto__", "polluted"], true, 1]))]);
    expect("polluted" in {}).toBe(false);
  });

  test("changes nothing that is the same", () => {
    expect(changesIn({ a: [1], b: 1 }, { a: [1], b: 2, c: null })).toEqual({ b: 2, c: null });
  });
});
