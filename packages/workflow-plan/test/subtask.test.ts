import { describe, expect, test } from "bun:test";
import {
  CueclawError,
  ExecutorError,
  keptByRetry,
  PlanState,
  type StepAgent,
  type Subtask,
} from "../src/entry/index.ts";
import { stepRunId } from "../src/plan/terms.ts";
import { eventsIn, plan, result, runPlan, statesIn, step } from "./parts.ts";

/** Returns an agent that creates subtasks, and returns the outcome of each. */
const creating =
  (...subtasks: Subtask[]): StepAgent =>
  async (_, { createSubtask }) => {
    const lines: string[] = [];
    for (const subtask of subtasks) {
      await createSubtask(subtask).then(
        ({ id }) => lines.push(id),
        (error: unknown) => lines.push(String(error)),
      );
    }
    return { output: lines.join("\n") };
  };

describe("a subtask", () => {
  test("joins the run after its creator, and dependents of the creator do not wait for it", async () => {
    const inputs = { from: "$steps.a.output" };
    const outcome = await runPlan(plan([step("a"), step("b", ["a"])]), {
      a: creating({ id: "more", description: "look closer", inputs }, { description: "and on" }),
    });
    expect(result(outcome)).toEqual({ returnCode: 0, summary: "4 steps succeeded" });
    expect(eventsIn(outcome.steps)).toEqual([
      ...["started a", "subtask more", "subtask a-subtask-1", "succeeded a"],
      ...["started b", "started more", "started a-subtask-1"],
      ...["succeeded b", "succeeded more", "succeeded a-subtask-1"],
    ]);
    const record = outcome.steps[1]?.meta;
    expect(record).toMatchObject({ by: "a", step: { id: "more", depends_on: ["a"], inputs } });
    expect(outcome.steps[5]?.meta.inputs).toEqual({ from: "more\na-subtask-1" });
  });

  test("exists again after a crash", async () => {
    const definition = plan([step("a")]);
    const { steps } = await runPlan(definition, { a: creating({ id: "b", description: "b" }) });
    const resumed = await runPlan(definition, {}, { steps: steps.slice(0, 4) });
    expect(statesIn(resumed.steps)).toEqual({ a: "succeeded", b: "succeeded" });
  });

  test("is refused when it is invalid, too deep, or over the limit", async () => {
    const outcome = await runPlan(plan([step("a"), step("b")]), {
      a: creating(
        { id: "b", description: "x" },
        { id: "A b", description: "x" },
        { id: "c", description: " " },
        { id: "c", description: "x", depends_on: ["c"] },
        { id: "c", description: "x", depends_on: ["nothing"] },
        { id: "c", description: "x", inputs: { x: "$steps.b.output" } },
        { id: "one", description: "x", depends_on: [] },
      ),
      one: creating({ id: "two", description: "x" }),
      two: creating({ id: "three", description: "x" }),
    });
    const texts = Object.fromEntries(
      outcome.steps.flatMap(({ content, meta, role }) =>
        meta.event === "succeeded" ? [[role, content.split("\n")]] : [],
      ),
    );
    expect(texts.a).toEqual([
      expect.stringContaining("already has a step"),
      expect.stringContaining("id: must be kebab-case"),
      expect.stringContaining("description: must not be blank"),
      expect.stringContaining("depends on itself"),
      expect.stringContaining('no step "nothing" found'),
      expect.stringContaining("is not in depends_on"),
      "one",
    ]);
    expect(texts.two).toEqual([expect.stringContaining("2 levels deep")]);
    const many = Array.from({ length: 21 }, (_, n) => ({ id: `s${n}`, description: "x" }));
    const full = await runPlan(plan([step("a")]), { a: creating(...many) });
    expect(full.steps.find(({ meta }) => meta.event === "succeeded")?.content).toEndWith(
      "subtasks, which is the maximum",
    );
  });
});

describe("a retry", () => {
  test("keeps successful steps and their subtasks, even after the failed step", async () => {
    const definition = plan([step("a"), step("bad"), step("b", ["a"]), step("c", ["bad"])]);
    const first = await runPlan(definition, {
      a: creating({ id: "sub", description: "x", depends_on: [] }),
      bad: new Error("no"),
      sub: new Error("no"),
    });
    expect(first.status).toBe("failed");
    const kept = keptByRetry(first.steps).map((number) => first.steps[number]);
    expect(eventsIn(kept.flatMap((one) => one ?? []))).toEqual([
      ...["started a", "subtask sub", "succeeded a", "started b", "succeeded b"],
    ]);
    const asked: string[] = [];
    const note: StepAgent = async ({ stepId }) => {
      asked.push(stepId);
      return { output: "" };
    };
    const answers = { a: note, bad: note, b: note, c: note, sub: note };
    const second = await runPlan(definition, answers, { steps: kept.flatMap((one) => one ?? []) });
    expect(second.status).toBe("completed");
    expect(asked.toSorted()).toEqual(["bad", "c", "sub"]);
  });

  test("has its own step runs", () => {
    expect(stepRunId("01J", "a-b")).toBe("sr_01J_a-b");
  });
});

test("errors of plans keep their name, code and class when their class was bundled twice", async () => {
  const copy = await import(`../src/error/error.ts?${Math.random()}`);
  const error: unknown = new copy.ExecutorError("no");
  expect(error instanceof ExecutorError).toBe(true);
  expect(error instanceof CueclawError).toBe(true);
  expect(error).toMatchObject({ name: "ExecutorError", code: "EXECUTOR_ERROR", message: "no" });
  expect(error instanceof copy.PlannerError).toBe(false);
  expect(new CueclawError("x", "MINE")).toMatchObject({ name: "CueclawError", code: "MINE" });
});

test("a step of another program, or of an older definition, changes nothing", () => {
  const state = new PlanState(plan([step("a")]));
  state.apply({ role: "gone", content: "", meta: { event: "succeeded", attempt: 1 } });
  state.apply({ role: "a", content: "", meta: { event: "something" } });
  expect(state.steps.map(({ status }) => status)).toEqual(["pending"]);
});
