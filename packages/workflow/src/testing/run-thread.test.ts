import { describe, expect, test } from "bun:test";
import { WAIT, type WorkflowFn, type WorkflowResult } from "../contract/contract.ts";
import { settableClock } from "./clock.ts";
import { runThread } from "./run-thread.ts";

const done: WorkflowResult = { returnCode: 0, summary: "done" };

/** A workflow without imports and helpers. */
const plain: WorkflowFn = async function* (input, options) {
  const names = ["planner", "coder", "tester"].slice(input.steps.length);
  for (const role of names) {
    yield { role, content: `${role}: ${input.prompt}`, meta: { of: options.maxRounds } };
  }
  return done;
};

const asking: WorkflowFn = async function* (input) {
  let answer = input.steps[1];
  if (answer === undefined) {
    answer = (yield {
      role: WAIT,
      content: "Ship it?",
      meta: { for: "approval" },
    }) as typeof answer;
  }
  return { returnCode: 0, summary: JSON.stringify([answer?.content, answer?.meta]) };
};

describe("a plain workflow", () => {
  test("runs to its end, and each step has its time", async () => {
    const { now, set, advance } = settableClock();
    set(10);
    advance(5);
    const outcome = await runThread(plain, { prompt: "it", maxRounds: 9, now });
    expect(outcome.steps[2]).toEqual({
      role: "tester",
      content: "tester: it",
      meta: { of: 9 },
      timestamp: 15,
    });
    expect(outcome).toMatchObject({ status: "completed", reason: "returned", result: done });
  });

  test("continues after the given steps, which keep their times", async () => {
    const { steps } = await runThread(plain, { now: () => 1 });
    const { steps: again } = await runThread(plain, { steps: steps.slice(0, 2), now: () => 2 });
    expect(again.map((step) => step.timestamp)).toEqual([1, 1, 2]);
  });

  test("ends after maxRounds steps, without a request for the next step", async () => {
    let asked = 0;
    let closed = false;
    const counting: WorkflowFn = async function* (input) {
      try {
        for (let n = input.steps.length; ; n++) {
          asked += 1;
          yield { role: "a", content: String(n), meta: {} };
        }
      } finally {
        closed = true;
      }
    };
    const outcome = await runThread(counting, { maxRounds: 3 });
    expect(outcome).toMatchObject({ status: "completed", reason: "maxRounds" });
    expect([outcome.steps.length, asked, closed]).toEqual([3, 3, true]);
    const full = await runThread(counting, { maxRounds: 2, steps: outcome.steps });
    expect([full.steps.length, asked]).toEqual([3, 3]);
  });

  test("fails with a thrown error, an invalid step or an invalid result", async () => {
    const failing = (yielded: unknown, returned: unknown): WorkflowFn =>
      async function* () {
        if (yielded instanceof Error) throw yielded;
        yield yielded as never;
        return returned as WorkflowResult;
      };
    const error = new Error("no model");
    expect(await runThread(failing(error, done))).toEqual({
      status: "failed",
      reason: "failed",
      message: "no model",
      error,
      steps: [],
    });
    expect(await runThread(failing({ foo: 1 }, done))).toMatchObject({
      message: "step 1: role is undefined, not a string",
    });
    const step = { role: "a", content: "", meta: {} };
    expect(await runThread(failing(step, undefined))).toMatchObject({
      message: "the return value: the result is undefined, not {returnCode, summary}",
      steps: [step],
    });
    expect(await runThread(failing(step, { returnCode: 2, summary: "no" }))).toMatchObject({
      status: "failed",
      reason: "returned",
      result: { returnCode: 2, summary: "no" },
    });
  });

  test("gets params, signal, cwd, env and all other given options", async () => {
    const publishing: WorkflowFn = async function* (input, options) {
      yield { role: "a", content: options.threadId, meta: { given: input.params, ...options.env } };
      return { returnCode: 0, summary: `${options.cwd} ${String(options.token)}` };
    };
    const outcome = await runThread(publishing, {
      threadId: "T",
      params: [1],
      cwd: "/repo",
      env: { A: "b" },
      options: { token: "t" },
    });
    expect(outcome).toMatchObject({
      steps: [{ content: "T", meta: { given: [1], A: "b" } }],
      result: { summary: "/repo t" },
    });
  });

  test("is killed at once when the signal is aborted, even if a role ignores the signal", async () => {
    const stop = new AbortController();
    const stuck: WorkflowFn = async function* () {
      yield { role: "a", content: "", meta: {} };
      stop.abort();
      await new Promise(() => {});
      return done;
    };
    const outcome = await runThread(stuck, { signal: stop.signal });
    expect([outcome.status, outcome.steps.length]).toEqual(["killed", 1]);
  });
});

describe("a workflow that asks", () => {
  test("gets its answers in order, with the parsed value of a JSON answer", async () => {
    expect(await runThread(asking, { answers: ["no JSON"] })).toMatchObject({
      result: { summary: '["no JSON",{"for":"approval","by":{"kind":"api"}}]' },
    });
    expect(await runThread(asking, { answers: ["[1]"] })).toMatchObject({
      result: { summary: '["[1]",{"for":"approval","by":{"kind":"api"},"value":[1]}]' },
    });
    const answers = [{ content: "late", meta: { timedOut: true } }];
    expect(await runThread(asking, { answers })).toMatchObject({
      result: { summary: '["late",{"timedOut":true}]' },
    });
  });

  test("gets an answer only at its question", async () => {
    const sent: unknown[] = [];
    const talking: WorkflowFn = async function* () {
      sent.push(yield { role: WAIT, content: "?", meta: { for: "x" } });
      sent.push(yield { role: "a", content: "", meta: {} });
      return done;
    };
    await runThread(talking, { answers: ["yes"] });
    expect(sent).toMatchObject([{ role: "__input__", content: "yes" }, undefined]);
  });

  test("waits without an answer, and continues from its steps when an answer is given", async () => {
    const waiting = await runThread(asking, { answers: () => undefined });
    expect(waiting).toMatchObject({ status: "waiting", wait: { content: "Ship it?" } });
    const { steps } = waiting;
    expect(await runThread(asking, { steps })).toMatchObject({ status: "waiting", steps });
    const answers = (wait: { content: string }): string => `to ${wait.content}`;
    expect(await runThread(asking, { steps, answers })).toMatchObject({
      result: { summary: '["to Ship it?",{"for":"approval","by":{"kind":"api"}}]' },
    });
  });

  test("completes when a question or an answer is its last round", async () => {
    for (const maxRounds of [1, 2]) {
      const outcome = await runThread(asking, { maxRounds, answers: ["x"] });
      expect(outcome).toMatchObject({ status: "completed", reason: "maxRounds" });
      expect(outcome.steps).toHaveLength(maxRounds);
    }
  });
});

describe("the checks of the engine", () => {
  const roles = { planner: { description: "Plans", schema: { required: ["topics"] } } };
  const descriptor = { description: "Plans", roles };
  const planning = (meta: Record<string, unknown>, role = "planner"): WorkflowFn =>
    async function* (input) {
      if (input.steps.length === 0) yield { role, content: "", meta };
      return done;
    };

  test("refuse a step that does not fit a strict descriptor, and warn about it without `strict`", async () => {
    const strict = { ...descriptor, strict: true };
    expect(await runThread(planning({}), { descriptor: strict })).toMatchObject({
      status: "failed",
      steps: [],
      error: { code: "STEP_REFUSED" },
      message: expect.stringContaining("must have required property 'topics'"),
    });
    expect(await runThread(planning({}, "writer"), { descriptor: strict })).toMatchObject({
      message: 'step 1: the role "writer" is not in the descriptor, which names "planner"',
    });
    const { status, mismatches } = await runThread(planning({}), { descriptor });
    expect([status, mismatches?.map(({ role }) => role)]).toEqual(["completed", ["planner"]]);
    const fitting = await runThread(planning({ topics: [] }), { descriptor: strict });
    expect(fitting).not.toHaveProperty("mismatches");
  });

  test("refuse a descriptor that `add` refuses, and params that do not fit the descriptor", async () => {
    const bad = { ...descriptor, roles: { planner: { description: "", schema: { type: "no" } } } };
    const refused = await runThread(planning({}), { descriptor: bad }).catch(String);
    expect(refused).toContain("roles.planner.schema");
    const input = { type: "object", required: ["repo"] };
    const wanting = { ...descriptor, input };
    const given = runThread(planning({}), { descriptor: wanting, params: {} });
    expect(await given.catch((error: unknown) => error)).toMatchObject({ code: "PARAMS_INVALID" });
    const params = { repo: "x" };
    expect(await runThread(planning({}), { descriptor: wanting, params })).toMatchObject({
      status: "completed",
    });
  });

  const askingFor = (meta: Record<string, unknown>): WorkflowFn =>
    async function* (input) {
      if (input.steps.length < 2) {
        yield { role: WAIT, content: "", meta: { for: "approval", ...meta } };
      }
      return done;
    };

  test("refuse an answer that does not match the question's schema", async () => {
    const workflow = askingFor({ schema: { type: "boolean" } });
    for (const answer of ["perhaps", { content: "", meta: { value: 1 } }]) {
      const refused = runThread(workflow, { answers: [answer] });
      expect(await refused.catch((error: unknown) => error)).toMatchObject({
        code: "ANSWER_INVALID",
        hint: 'make answer 1 of the test fit the question "approval", whose schema is {"type":"boolean"}',
      });
    }
    expect((await runThread(workflow, { answers: ["true"] })).status).toBe("completed");
  });

  test("end the thread at a question with an invalid schema", async () => {
    expect(await runThread(askingFor({ schema: { type: 3 } }))).toMatchObject({
      status: "failed",
      message: expect.stringContaining("step 1: meta.schema is not a JSON Schema"),
    });
  });
});
