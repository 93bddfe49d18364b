import { expect, test } from "bun:test";
import type { Step } from "@uncaged/workflow";
import { fixtureOf, type ThreadView } from "@uncaged/workflow/host";
import { recordedInput } from "@uncaged/workflow/internal";
import { runThread, type ThreadOutcome } from "@uncaged/workflow/testing";
import { planBundle, type PlanDocument } from "../src/entry/index.ts";
import { type Answers, plan, result, runPlan, step } from "./parts.ts";

/* Threads of plans, answered from the recording of another thread, without an agent. */
function fixtureFrom(outcome: ThreadOutcome) {
  const known = { status: "completed", threadId: "T", workflow: "w", hash: "H", prompt: "" };
  return fixtureOf({ ...outcome, ...known } as unknown as ThreadView);
}

type Fixture = ReturnType<typeof fixtureFrom>;

/** Answers a plan as if it was built from a file. Its agent is a missing command. */
function answered(definition: PlanDocument, fixture: Fixture, steps: Step[] = []) {
  const log = [...steps];
  const { run } = planBundle(definition);
  return runThread(run, {
    ...{ maxRounds: 10_000, steps, options: { fixture, agentCommand: "/nowhere/no-agent" } },
    answers(wait) {
      log.push(wait);
      const { content = "", meta = {}, value } = recordedInput(fixture, log) ?? {};
      return { content, meta: { ...meta, ...(value !== undefined && { value }) } };
    },
  });
}

/** Returns the events of each step, in any order between steps. */
const records = ({ steps }: Pick<ThreadOutcome, "steps">) =>
  Object.groupBy(
    steps.map(({ content, meta, role }) => ({ role, record: [meta.event, meta.attempt, content] })),
    ({ role }) => role,
  );

/** Steps that retry, ask, create a subtask and send a notice. */
function eventful(): { definition: PlanDocument; answers: Answers } {
  let tries = 0;
  const definition = plan([step("a"), step("b", ["a"]), step("c", ["b"])], {
    ...{ on_step_failure: "ask_user", max_retries: 1, retry_delay_ms: 1 },
  });
  const answers: Answers = {
    a: async (_, { createSubtask, notify }) => {
      await createSubtask({ description: "look closer" });
      await notify("half way");
      return { output: "a done", model: "m", cost: 1 };
    },
    b: async () => {
      tries += 1;
      if (tries < 4) throw new Error(`no luck ${tries}`);
      return { output: "b at last" };
    },
  };
  return { definition, answers };
}

test("a fixture answers attempts, subtasks, notices and questions, and starts no agent", async () => {
  const { answers, definition } = eventful();
  const first = await runPlan(definition, answers, { answers: ["retry"] });
  expect(result(first)).toEqual({ returnCode: 0, summary: "4 steps succeeded" });
  // A real retry would wait for an hour.
  const slow = { ...definition, failure_policy: { ...definition.failure_policy } };
  slow.failure_policy.retry_delay_ms = 3_600_000;
  const second = await answered(slow, fixtureFrom(first));
  expect(result(second)).toEqual(result(first));
  expect(records(second)).toEqual(records(first));
  expect(second.steps.some(({ meta }) => "cost" in meta)).toBe(false);
  for (let kept = 1; kept < second.steps.length; kept += 1) {
    // A question is answered before its thread continues.
    if (second.steps[kept - 1]?.role === "__wait__") continue;
    const again = await answered(slow, fixtureFrom(first), second.steps.slice(0, kept));
    expect([kept, result(again)]).toEqual([kept, result(first)]);
    const subtasks = again.steps.filter(({ meta }) => meta.event === "subtask");
    expect([kept, subtasks.length]).toEqual([kept, 1]);
  }
});

test("a step that was cancelled by another step's failure is cancelled again", async () => {
  const definition = plan([step("long"), step("bad")], { on_step_failure: "stop" });
  const first = await runPlan(definition, {
    long: async (_, { thread }) => {
      await new Promise((done) => thread.signal?.addEventListener("abort", done));
      throw new Error("aborted");
    },
    bad: new Error("no luck"),
  });
  const second = await answered(definition, fixtureFrom(first));
  expect(result(second)).toEqual(result(first));
  expect(records(second)).toEqual(records(first));
});

test("a missing answer fails the thread, and not the step", async () => {
  const policy = { on_step_failure: "skip_dependents", max_retries: 3 } as const;
  const first = await runPlan(plan([step("a")], policy));
  const more = plan([step("a"), step("other"), step("b", ["other"])], policy);
  const second = await answered(more, fixtureFrom(first));
  expect(second).toMatchObject({
    status: "failed",
    message: "the fixture of T has no answer for attempt 1 of step other",
    error: { code: "NO_RECORDED_ANSWER" },
  });
  const ends = second.steps.filter(({ role, meta }) => role !== "a" && meta.event !== "started");
  expect(ends).toEqual([]);
});

test("a question gets the recorded answer of the same step's question, in any order", async () => {
  const policy = { on_step_failure: "ask_user" } as const;
  const [x, y] = [step("x"), step("y")];
  const failing = { x: new Error("x"), y: new Error("y") };
  const first = await runPlan(plan([x, y], policy), failing, { answers: ["skip", "abort"] });
  const second = await answered(plan([y, x], policy), fixtureFrom(first));
  const decisions = second.steps.flatMap(({ meta, role }, at) =>
    role === "__wait__" ? [[meta.stepId, second.steps[at + 1]?.content]] : [],
  );
  // The run is aborted at the first question and asks no other question.
  expect(decisions).toEqual([["y", "abort"]]);
});
