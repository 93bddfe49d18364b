import { describe, expect, test } from "bun:test";
import type { StepRequest } from "../src/entry/index.ts";
import { eventsIn, gate, plan, result, runPlan, statesIn, step } from "./parts.ts";

const asking = { on_step_failure: "ask_user" } as const;

/** An agent that fails its first attempts. */
const failing =
  (times: number) =>
  async ({ attempt }: StepRequest) => {
    if (attempt <= times) throw new Error(`no ${attempt}`);
    return { output: "at last" };
  };

describe("the policy ask_user", () => {
  const definition = plan([step("a"), step("b", ["a"]), step("c")], asking);

  test("waits for a decision, with the question in the log", async () => {
    const outcome = await runPlan(definition, { a: new Error("no") });
    expect(outcome.status).toBe("waiting");
    expect(outcome.steps.at(-1)).toMatchObject({
      role: "__wait__",
      meta: { for: "step_failure", stepId: "a", error: "no", onTimeout: "abort", token: "a#1" },
    });
    expect(statesIn(outcome.steps)).toEqual({ a: "failed", c: "succeeded" });
  });

  test("retries after the decision retry, and attempt numbers continue", async () => {
    const outcome = await runPlan(definition, { a: failing(2) }, { answers: ["retry", "retry"] });
    expect(result(outcome)).toEqual({ returnCode: 0, summary: "3 steps succeeded" });
    const attempts = outcome.steps.filter(({ meta, role }) => role === "a" && meta.attempt);
    expect(attempts.map(({ meta }) => [meta.event, meta.attempt])).toEqual([
      ["started", 1],
      ["failed", 1],
      ["started", 2],
      ["failed", 2],
      ["started", 3],
      ["succeeded", 3],
    ]);
  });

  test("resets the retries of a step that the user retries", async () => {
    const own = plan([step("a")], { ...asking, max_retries: 1 });
    const outcome = await runPlan(own, { a: failing(3) }, { answers: ["retry"] });
    expect(eventsIn(outcome.steps)).toEqual([
      ...["started a", "attempt_failed a", "started a", "failed a", "__wait__", "__input__"],
      ...["started a", "attempt_failed a", "started a", "succeeded a"],
    ]);
  });

  test("skips the step's dependents, or aborts the run", async () => {
    const answer = { decision: "skip", by: "me" };
    const skipped = await runPlan(
      definition,
      { a: new Error("no") },
      {
        answers: [JSON.stringify(answer)],
      },
    );
    expect(statesIn(skipped.steps)).toEqual({ a: "failed", b: "skipped", c: "succeeded" });
    expect(skipped.steps.find(({ role }) => role === "__input__")?.meta.value).toEqual(answer);
    const aborted = await runPlan(definition, { a: new Error("no") }, { answers: ["abort"] });
    expect(statesIn(aborted.steps)).toEqual({ a: "failed", b: "skipped", c: "succeeded" });
    expect(result(aborted)).toEqual({ returnCode: 1, summary: "step a failed: no" });
  });

  test("asks about one step at a time, in the order of failure, and starts no step before the answer", async () => {
    const [first, second] = [gate(), gate()];
    const steps = [step("a"), step("b"), step("busy"), step("next", ["busy"]), step("x", ["b"])];
    const outcome = await runPlan(
      plan(steps, asking),
      {
        a: async () => {
          await first.opened;
          throw new Error("a");
        },
        b: async ({ attempt }) => {
          first.open();
          if (attempt === 1) throw new Error("b");
          return { output: "" };
        },
        busy: async () => {
          await first.opened;
          setTimeout(second.open, 1);
          await second.opened;
          return { output: "" };
        },
      },
      { answers: ["retry", "skip"] },
    );
    expect(eventsIn(outcome.steps)).toEqual([
      ...["started a", "started b", "started busy", "failed b", "failed a", "succeeded busy"],
      ...["__wait__", "__input__", "__wait__", "__input__"],
      ...["started b", "started next", "succeeded b", "succeeded next", "started x", "succeeded x"],
    ]);
    const asked = outcome.steps.flatMap(({ meta, role }) =>
      role === "__wait__" ? meta.stepId : [],
    );
    expect(asked).toEqual(["b", "a"]);
  });

  test("aborts after the answer timeout, if one is set", async () => {
    const waiting = await runPlan(definition, { a: new Error("no") }, { answerMs: 60_000 });
    const left = Number(waiting.steps.at(-1)?.meta.expiresAt) - Date.now();
    expect(left > 0 && left <= 60_000).toBe(true);
    const late = { role: "__input__", content: "", meta: { timedOut: true, value: "abort" } };
    const { steps } = waiting;
    const outcome = await runPlan(definition, {}, { steps: [...steps, late] });
    expect(statesIn(outcome.steps)).toEqual({ a: "failed", b: "skipped", c: "succeeded" });
  });

  test("accepts an answer that was given while no worker ran", async () => {
    const { steps } = await runPlan(definition, { a: new Error("no") });
    const answer = { role: "__input__", content: "retry", meta: {} };
    const outcome = await runPlan(definition, {}, { steps: [...steps, answer] });
    expect(outcome.status).toBe("completed");
  });
});
