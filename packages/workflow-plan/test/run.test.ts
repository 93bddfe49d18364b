import { describe, expect, test } from "bun:test";
import type { StepRequest } from "../src/entry/index.ts";
import { eventsIn, gate, plan, result, runPlan, statesIn, step } from "./parts.ts";

describe("a run", () => {
  test("starts each step of a diamond once, when all its dependencies have succeeded", async () => {
    const steps = [step("a"), step("b", ["a"]), step("c", ["a"]), step("d", ["b", "c"])];
    const prompts: Record<string, string> = {};
    const note = async ({ prompt, stepId }: StepRequest) => {
      prompts[stepId] = prompt;
      return { output: `${stepId}!` };
    };
    const outcome = await runPlan(plan(steps), { a: note, b: note, c: note, d: note });
    expect(result(outcome)).toEqual({ returnCode: 0, summary: "4 steps succeeded" });
    expect(eventsIn(outcome.steps)).toEqual([
      ...["started a", "succeeded a", "started b", "started c"],
      ...["succeeded b", "succeeded c", "started d", "succeeded d"],
    ]);
    expect(prompts.d).toBe('do d\n\nInputs:\n{\n  "b": "b!",\n  "c": "c!"\n}');
    expect(outcome.steps[1]).toMatchObject({ content: "a!", meta: { attempt: 1 } });
    expect(outcome.steps[6]?.meta).toMatchObject({ inputs: { b: "b!", c: "c!" }, sandbox: "off" });
  });

  test("has no barrier: a child of a fast root starts while a slow root runs", async () => {
    const slow = gate();
    const steps = [step("slow"), step("fast"), step("child", ["fast"])];
    const outcome = await runPlan(plan(steps), {
      slow: async () => {
        await slow.opened;
        return { output: "late" };
      },
      child: async () => {
        slow.open();
        return { output: "early" };
      },
    });
    expect(eventsIn(outcome.steps).slice(-2)).toEqual(["succeeded child", "succeeded slow"]);
  });

  test("has at most four concurrent steps, or another set limit", async () => {
    const ids = Array.from({ length: 9 }, (_, n) => `s${n}`);
    const most = async (maxParallelSteps?: number) => {
      const seen = { now: 0, most: 0 };
      const work = async () => {
        seen.most = Math.max(seen.most, (seen.now += 1));
        await new Promise((resolve) => setTimeout(resolve, 1));
        seen.now -= 1;
        return { output: "" };
      };
      const answers = Object.fromEntries(ids.map((id) => [id, work]));
      const outcome = await runPlan(plan(ids.map((id) => step(id))), answers, { maxParallelSteps });
      expect(outcome.status).toBe("completed");
      return seen.most;
    };
    expect(await most()).toBe(4);
    expect(await most(2)).toBe(2);
  });

  test("passes structured data to the next step as one text: the example of the protocol", async () => {
    const output = '{"branch": "feature/42", "repo_path": "/tmp/repo"}';
    const inputs = { context: "$steps.step-a.output" };
    const steps = [step("step-a"), step("step-b", ["step-a"], { inputs })];
    const outcome = await runPlan(plan(steps), { "step-a": output });
    expect(outcome.steps[2]?.meta.inputs).toEqual({ context: output });
  });

  test("passes its trigger data to steps that refer to it, or null without trigger data", async () => {
    const steps = [step("a", [], { inputs: { news: "<$trigger_data>" } })];
    const given = await runPlan(plan(steps), {}, { options: { triggerData: "$& new" } });
    expect(given.steps[0]?.meta.inputs).toEqual({ news: "<$& new>" });
    const without = await runPlan(plan(steps));
    expect(without.steps[0]?.meta.inputs).toEqual({ news: "<null>" });
  });

  test("counts an empty output as a success", async () => {
    const outcome = await runPlan(plan([step("a"), step("b", ["a"])]), { a: "" });
    expect(outcome.status).toBe("completed");
    expect(outcome.steps[1]).toMatchObject({ content: "", meta: { event: "succeeded" } });
  });

  test("keeps the whole output, and passes at most 10,240 bytes of it to a step that refers to it", async () => {
    const long = "ä".repeat(5121);
    const outcome = await runPlan(plan([step("a"), step("b", ["a"])]), { a: long });
    expect(outcome.steps[1]?.content).toBe(long);
    expect(outcome.steps[2]?.meta.inputs).toEqual({ a: `${"ä".repeat(5120)}\n[truncated]` });
  });

  test("ends with an error when its rounds run out, and never as if it were complete", async () => {
    const steps = [step("a"), step("b", ["a"]), step("c", ["b"])];
    const outcome = await runPlan(plan(steps), {}, { maxRounds: 4 });
    expect(outcome).toMatchObject({ status: "failed", error: { code: "ROUND_LIMIT" } });
  });
});

describe("the policy skip_dependents", () => {
  // The example of the protocol: D depends on B, B on A, and C on nothing.
  const example = plan([step("a"), step("b", ["a"]), step("c"), step("d", ["b"])]);

  test("skips the transitive dependents of a failed step, and continues with the other steps", async () => {
    const outcome = await runPlan(example, { a: new Error("no") });
    expect(statesIn(outcome.steps)).toEqual({
      ...{ a: "failed", b: "skipped", c: "succeeded", d: "skipped" },
    });
    expect(result(outcome)).toEqual({ returnCode: 1, summary: "step a failed: no" });
    const because = outcome.steps.flatMap(({ meta, role }) =>
      meta.event === "skipped" ? [[role, meta.because]] : [],
    );
    expect(because).toEqual([
      ["b", "a"],
      ["d", "b"],
    ]);
  });

  test("skips a dependent without a reference, and a dependent with a reference in a list", async () => {
    const steps = [
      step("a"),
      step("plain", ["a"], { inputs: {} }),
      step("listed", ["a"], { inputs: { all: [["$steps.a.output"]] } }),
    ];
    const outcome = await runPlan(plan(steps), { a: new Error("no") });
    expect(statesIn(outcome.steps)).toEqual({ a: "failed", plain: "skipped", listed: "skipped" });
  });
});

describe("the policy stop", () => {
  test("aborts running steps, skips the rest and names the failed step", async () => {
    const begun = gate();
    const steps = [step("bad"), step("busy"), step("next", ["busy"]), step("last", ["next"])];
    const outcome = await runPlan(plan(steps, { on_step_failure: "stop" }), {
      bad: async () => {
        await begun.opened;
        throw new Error("boom");
      },
      busy: (_, { thread }) =>
        new Promise((_resolve, reject) => {
          begun.open();
          thread.signal?.addEventListener("abort", () => reject(new Error("aborted")));
        }),
    });
    expect(statesIn(outcome.steps)).toEqual({
      ...{ bad: "failed", busy: "failed", next: "skipped", last: "skipped" },
    });
    const busy = outcome.steps.findLast(({ role }) => role === "busy");
    expect(busy).toMatchObject({ content: "cancelled", meta: { cancelled: true } });
    expect(result(outcome)).toEqual({
      returnCode: 1,
      summary: "step bad failed: boom; also failed: busy",
    });
  });

  test("ends the wait of a step for its next attempt at once", async () => {
    const waiting = gate();
    const outcome = await runPlan(
      plan([step("bad"), step("again")], {
        ...{ on_step_failure: "stop", max_retries: 1, retry_delay_ms: 600_000 },
      }),
      {
        again: () => {
          waiting.open();
          throw new Error("not yet");
        },
        bad: async ({ attempt }) => {
          await waiting.opened;
          throw new Error(`${attempt}`);
        },
      },
      { steps: [failedAttempt("bad", 1)] },
    );
    expect(statesIn(outcome.steps)).toEqual({ bad: "failed", again: "failed" });
    expect(outcome.steps.at(-1)?.meta).toMatchObject({ error: "cancelled", cancelled: true });
  });
});

/** Returns the record of an attempt that failed long ago. */
const failedAttempt = (role: string, attempt: number) => ({
  role,
  content: "no",
  meta: { event: "attempt_failed", attempt, error: "no", delayMs: 0 },
  timestamp: 1,
});
