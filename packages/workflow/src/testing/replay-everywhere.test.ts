import { expect, test } from "bun:test";
import { END, type RoleOutput, type WorkflowFn } from "../contract/contract.ts";
import { isWorkflowError } from "../contract/error.ts";
import { durable } from "../durable/durable.ts";
import type { AgentFn, Role } from "../moderator/context.ts";
import { createRoleModerator } from "../moderator/moderator.ts";
import { type WaitResult, waitFor } from "../moderator/history.ts";
import { type ReplayOptions, replayEverywhere } from "./replay-everywhere.ts";
import type { RunThreadOptions } from "./run-thread.ts";

const differences = async (workflow: WorkflowFn, options?: RunThreadOptions) => {
  const thrown: unknown = await replayEverywhere(workflow, options).catch(
    (error: unknown) => error,
  );
  if (!isWorkflowError(thrown)) throw new Error("the workflow passed");
  return thrown.details;
};

const problem = async (workflow: WorkflowFn, options?: ReplayOptions) => {
  const thrown: unknown = await replayEverywhere(workflow, options).catch((e: unknown) => e);
  if (!isWorkflowError(thrown)) throw new Error("the workflow passed");
  expect(thrown.code).toBe("REPLAY_NOT_COMPLETED");
  return `${thrown.message}; ${thrown.hint}`;
};

const step = (role: string, content = ""): RoleOutput => ({ role, content, meta: {} });

test("a moderator's workflow with scripted agents passes", async () => {
  const prompts: string[] = [];
  const agent: AgentFn = async (ctx, prompt) => {
    prompts.push(prompt);
    return prompt === "You plan" ? "1. read" : `after ${ctx.steps.length}`;
  };
  const speaker =
    (prompt: string): Role<Record<string, unknown>> =>
    async (ctx) => ({ content: await agent(ctx, prompt), meta: {} });
  const approval: Role<WaitResult<boolean>> = async () => waitFor("approval");
  const order = ["planner", "approval", "coder"] as const;
  const workflow = createRoleModerator({
    roles: { planner: speaker("You plan"), coder: speaker("You code"), approval },
    moderator: (ctx) => order[ctx.steps.length] ?? END,
  });
  const whole = await replayEverywhere(workflow, { answers: ["true"] });
  expect(whole).toMatchObject({ status: "completed", result: { summary: "after 2" } });
  expect(whole.steps.map(({ role }) => role)).toEqual([
    "planner",
    "__wait__",
    "__input__",
    "coder",
  ]);
  expect(prompts.length).toBeGreaterThan(2);
});

test("a durable workflow passes", async () => {
  const workflow = durable(async function* (run) {
    yield* run.all({ a: () => "a", b: () => "b" });
    const first = yield* run.wait("x");
    const second = yield* run.wait("y");
    return `${String(first.value)} ${String(second.value)}`;
  });
  const whole = await replayEverywhere(workflow, { answers: ["one", "two"] });
  expect(whole).toMatchObject({ result: { summary: "one two" } });
});

test("a workflow that waits forever passes if that is expected", async () => {
  const workflow = durable(async function* (run) {
    yield* run("a", () => "");
    yield* run.wait("x");
    return "";
  });
  expect((await replayEverywhere(workflow, { expect: "waiting" })).status).toBe("waiting");
  expect(await problem(workflow)).toBe(
    'the thread is waiting for "x" after 2 steps, not completed; give it answers, or pass expect: "waiting"',
  );
});

test("a workflow that always fails is reported, unless that is expected", async () => {
  const failing: WorkflowFn = async function* (input) {
    if (input.steps.length === 0) yield step("a");
    throw new Error("no model");
  };
  expect(await problem(failing)).toBe(
    'the thread is failed with "no model" after 1 steps, not completed; fix the workflow, or pass expect: "failed"',
  );
  expect(await replayEverywhere(failing, { expect: "failed" })).toMatchObject({ steps: [{}] });
  const broken: WorkflowFn = async function* (input) {
    if (input.steps.length === 0) yield step("a");
    return { returnCode: 3, summary: "no" };
  };
  expect(await problem(broken)).toStartWith("the thread is failed with");
});

test("a workflow that never ends is reported, unless that is expected", async () => {
  const endless: WorkflowFn = async function* (input) {
    for (let n = input.steps.length; ; n++) yield step("a", String(n));
  };
  expect(await problem(endless, { maxRounds: 3 })).toBe(
    'the thread ran out of rounds after 3 steps, not completed; raise maxRounds, or pass expect: "maxRounds"',
  );
  await replayEverywhere(endless, { maxRounds: 3, expect: "maxRounds" });
  const done: WorkflowFn = async function* (input) {
    if (input.steps.length === 0) yield step("a");
    return { returnCode: 0, summary: "" };
  };
  expect(await problem(done, { expect: "waiting" })).toContain(", not waiting");
});

test("a workflow that starts over each time is reported with its repeated steps", async () => {
  const forgetful: WorkflowFn = async function* () {
    yield step("planner", "plan");
    yield step("coder", "code");
    return { returnCode: 0, summary: "done" };
  };
  expect(await differences(forgetful)).toEqual([
    'after 1 steps: with extra planner "plan"',
    'after 2 steps: with extra planner "plan", coder "code"',
  ]);
  const thrown = await replayEverywhere(forgetful).catch((error: unknown) => error);
  expect(thrown).toMatchObject({ code: "REPLAY_DIFFERS" });
  expect(String(thrown)).toContain('after 1 steps: with extra planner "plan"; after 2 steps');
});

test("a workflow that ends differently, skips steps or fails after a restart is reported", async () => {
  const ending = (after: (steps: readonly RoleOutput[]) => string): WorkflowFn =>
    async function* (input) {
      if (input.steps.length === 0) yield step("a");
      return { returnCode: 0, summary: after(input.steps) };
    };
  expect(await differences(ending((steps) => `${steps.length} steps before`))).toEqual([
    'after 1 steps: completed with {"returnCode":0,"summary":"1 steps before"} instead of completed with {"returnCode":0,"summary":"0 steps before"}',
  ]);
  const failing = ending((steps) => {
    if (steps.length > 0) throw new Error("lost");
    return "";
  });
  expect((await differences(failing))?.[0]).toContain('failed with "lost" instead of');
  const lazy: WorkflowFn = async function* (input) {
    if (input.steps.length === 0) {
      yield step("a");
      yield step("b");
    }
    return { returnCode: 0, summary: "" };
  };
  expect(await differences(lazy)).toEqual(['after 1 steps: without b ""']);
});

test("given steps stay, and only later steps are cut", async () => {
  const workflow: WorkflowFn = async function* (input) {
    if (input.steps.length < 2) yield step("b");
    return { returnCode: 0, summary: "" };
  };
  const whole = await replayEverywhere(workflow, { steps: [step("a")] });
  expect(whole.steps).toHaveLength(2);
});

test("delays between the tries of a step end at once", async () => {
  const retry = { attempts: 25, backoff: "9s", maxDelay: "9s" } as const;
  const failing = durable(async function* (task) {
    try {
      return yield* task("a", () => Promise.reject<string>(new Error("no")), { retry });
    } catch {
      return "gave up";
    }
  });
  expect((await replayEverywhere(failing)).steps).toHaveLength(24);
});
