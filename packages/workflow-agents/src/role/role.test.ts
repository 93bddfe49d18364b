import { afterEach, beforeEach, describe as group, expect, test } from "bun:test";
import { channel } from "node:diagnostics_channel";
import {
  createRoleModerator,
  durable,
  END,
  eventsChannel,
  isWorkflowError,
  type WorkflowError,
  type WorkflowEvent,
} from "@uncaged/workflow";
import { noUsage } from "@uncaged/workflow/interpreter";
import { runThread } from "@uncaged/workflow/testing";
import { z } from "zod";
import type { Extractor } from "../extract/extract.ts";
import { currentRun, publish } from "../run/run.ts";
import { scriptedAgent } from "../scripted/scripted.ts";
import { roleSteps } from "./durable.ts";
import { describe, role, type RoleSpec } from "./role.ts";

// Bun drops the subscribers of an unreferenced channel.
const eventsOn = channel(eventsChannel);
let events: WorkflowEvent[] = [];
const listen = (message: unknown) => void events.push(message as WorkflowEvent);
beforeEach(() => {
  events = [];
  eventsOn.subscribe(listen);
});
afterEach(() => {
  eventsOn.unsubscribe(listen);
});

const schema = z.object({ files: z.array(z.string()), risk: z.enum(["low", "high"]).optional() });
type Spec = RoleSpec<typeof schema>;

const planner = (spec: Partial<Spec> = {}) =>
  role({
    description: "Plans the change",
    agent: scriptedAgent(['{"files":["a.ts"]}', '{"files":["b.ts"]}']),
    systemPrompt: "You plan.",
    schema,
    ...spec,
  });

const twice = (one: ReturnType<typeof planner>, times = 1) =>
  createRoleModerator({
    roles: { planner: one },
    moderator: ({ steps }) => (steps.length < times ? "planner" : END),
  });

const reads = (...answers: unknown[]): Extractor & { problems: (string | null)[] } => {
  const problems: (string | null)[] = [];
  const extractor: Extractor = async (_text, _schema, problem) => {
    problems.push(problem);
    return answers[Math.min(problems.length, answers.length) - 1];
  };
  return Object.assign(extractor, { problems });
};

const reported = (fields: unknown, missing: string[] = []) => ({ missing, fields });
const spends =
  (text: string, model = "claude-haiku-4-5") =>
  async () => {
    const { reserve, spent } = currentRun();
    const usage = { ...noUsage, input_tokens: 1000, output_tokens: 100 };
    const { release } = await reserve({ model, usage, cost: null });
    spent.push({ model, usage, cost: null });
    release();
    return text;
  };

async function failureOf(one: ReturnType<typeof planner>, options: object = {}) {
  const outcome = await runThread(twice(one), { prompt: "fix it", ...options });
  if (outcome.status !== "failed" || outcome.reason !== "failed") throw new Error(outcome.status);
  const error = outcome.error as WorkflowError & { kept?: Record<string, unknown> };
  return { code: error.code, message: outcome.message, kept: error.kept, hint: error.hint };
}

group("a role's step", () => {
  test("has the agent's text, and meta with the values that the text states", async () => {
    const { steps } = await runThread(twice(planner()), { prompt: "fix it" });
    expect(steps).toMatchObject([{ role: "planner", content: '{"files":["a.ts"]}' }]);
    expect(steps[0]?.meta).toEqual({ files: ["a.ts"], usage: noUsage, model: null, cost: 0 });
  });

  test("counts the spending of its calls at list prices", async () => {
    const one = planner({
      agent: spends("It is a.ts."),
      extract: reads(reported({ files: ["a.ts"] })),
    });
    const { steps } = await runThread(twice(one));
    expect(steps[0]?.meta).toEqual({
      files: ["a.ts"],
      usage: { ...noUsage, input_tokens: 1000, output_tokens: 100 },
      model: "claude-haiku-4-5",
      cost: 0.0015,
    });
  });

  test("reports its models separately, and a null cost if a model's price is unknown", async () => {
    const extract: Extractor = async () => {
      await spends("", "house-model")();
      return reported({ files: [] });
    };
    const { steps } = await runThread(twice(planner({ agent: spends("a"), extract })));
    expect(steps[0]?.meta).toMatchObject({
      model: "house-model",
      cost: null,
      usage: { input_tokens: 2000 },
      models: { "claude-haiku-4-5": { cost: 0.0015 }, "house-model": { cost: null } },
    });
  });

  test("passes an agent's memory to the role's next step", async () => {
    const seen: unknown[] = [];
    const agent = async () => {
      const { memory } = currentRun();
      seen.push({ ...memory });
      memory.session = `s${seen.length}`;
      return '{"files":[]}';
    };
    const { steps } = await runThread(twice(planner({ agent }), 2));
    expect(seen).toEqual([{}, { session: "s1" }]);
    expect(steps.map(({ meta }) => meta.agent)).toMatchObject([
      { session: "s1" },
      { session: "s2" },
    ]);
  });

  test("has a system prompt that may depend on the thread, and includes the schema when needed", async () => {
    const prompts: string[] = [];
    const agent = async (_: unknown, systemPrompt: string) => {
      prompts.push(systemPrompt);
      return '{"files":[]}';
    };
    const systemPrompt: Spec["systemPrompt"] = ({ start }) => `Plan: ${start.content}`;
    await runThread(twice(planner({ agent, systemPrompt })), { prompt: "fix it" });
    await runThread(twice(planner({ agent, systemPrompt, extract: reads() })), { prompt: "it" });
    expect(prompts[0]).toStartWith("Plan: fix it\n\nEnd your answer with one JSON code block");
    expect(prompts[0]).toContain('"files"');
    expect(prompts[1]).toBe("Plan: it");
  });

  test("accepts any text without fields", async () => {
    const one = role({
      description: "Talks",
      agent: async () => "Just words.",
      systemPrompt: "",
      schema: z.object({}),
    });
    const run = createRoleModerator({
      roles: { one },
      moderator: ({ steps }) => (steps.length === 0 ? "one" : END),
    });
    expect((await runThread(run)).steps).toMatchObject([{ content: "Just words." }]);
  });
});

group("extraction", () => {
  test("does not call the extractor if the text itself fits the schema", async () => {
    const extract = reads();
    const { status } = await runThread(twice(planner({ extract })));
    expect(status).toBe("completed");
    expect(extract.problems).toEqual([]);
  });

  test("repeats the extraction with the problems of the last value, and accepts a value that fits", async () => {
    const extract = reads("prose", reported({ files: "a.ts" }), reported({ files: ["a.ts"] }));
    const one = planner({ agent: scriptedAgent(["It is a.ts."]), extract });
    const { steps } = await runThread(twice(one));
    expect(steps[0]).toMatchObject({ content: "It is a.ts.", meta: { files: ["a.ts"] } });
    expect(extract.problems[0]).toBeNull();
    expect(extract.problems[1]).toContain('The answer was: "prose"');
    expect(extract.problems[2]).toContain("files: Invalid input: expected array");
  });

  test("fails when its repairs are used up, and the end record has the raw text", async () => {
    const extract = reads(reported({ files: "a.ts" }));
    const one = planner({ agent: spends("It is a.ts."), extract, repairs: 1 });
    const failed = await failureOf(one);
    expect(extract.problems).toHaveLength(2);
    expect(failed.code).toBe("EXTRACTION_FAILED");
    expect(failed.message).toContain("files: Invalid input: expected array, received string");
    expect(failed.kept).toMatchObject({
      role: "planner",
      raw: "It is a.ts.",
      model: "claude-haiku-4-5",
      cost: 0.0015,
    });
    const last = events.at(-1);
    expect(last).toMatchObject({
      type: "step_error",
      stepID: "planner",
      payload: { code: "EXTRACTION_FAILED", raw: "It is a.ts." },
    });
  });

  test("does not request a value that the text does not state again, because the extractor would invent it", async () => {
    const extract = reads(reported(null, ["files"]), reported({ files: ["invented.ts"] }));
    const failed = await failureOf(planner({ agent: async () => "Hm.", extract }));
    expect(extract.problems).toHaveLength(1);
    expect(failed.message).toContain("the text does not state: files");
    expect(
      (await failureOf(planner({ agent: async () => "Hm.", extract: reads(reported(null)) }))).code,
    ).toBe("EXTRACTION_FAILED");
  });

  test("fails at once without an extractor and repairs, and reports the problems", async () => {
    const prose = await failureOf(planner({ agent: async () => "a.ts" }));
    expect(prose.message).toContain("the answer is not JSON");
    const wrong = await failureOf(planner({ agent: async () => '{"files":1}' }));
    expect(wrong.message).toContain("files: Invalid input");
  });

  test("fails for an empty answer without a call of the extractor", async () => {
    const extract = reads(reported({ files: ["invented.ts"] }));
    expect((await failureOf(planner({ agent: async () => " \n", extract }))).code).toBe(
      "EMPTY_ANSWER",
    );
    expect(extract.problems).toEqual([]);
  });

  test("keeps only the beginning of an answer that is too long for the end record", async () => {
    const { kept } = await failureOf(planner({ agent: async () => "x".repeat(5_000_000) }));
    expect(String(kept?.raw)).toHaveLength(64 * 1024 + 1);
  });
});

group("the events of a role", () => {
  test("are published in the documented order, with the role's name", async () => {
    await runThread(twice(planner()), { prompt: "fix it" });
    expect(events.map(({ type }) => type)).toEqual([
      "step_start",
      "llm_token",
      "llm_done",
      "step_done",
    ]);
    expect(new Set(events.map(({ stepID }) => stepID))).toEqual(new Set(["planner"]));
    expect(events[0]?.payload).toMatchObject({
      type: "Role",
      meta: { title: "planner", description: "Plans the change" },
      resolvedInputs: { prompt: "fix it" },
    });
    expect(events.at(-1)?.payload).toMatchObject({
      outputs: { content: '{"files":["a.ts"]}', meta: { files: ["a.ts"] } },
    });
  });

  test("contain the full request, and the beginning of the step", async () => {
    const agent = async () => JSON.stringify({ files: ["x".repeat(20_000)] });
    await runThread(twice(planner({ agent })), { prompt: "y".repeat(20_000) });
    expect(events[0]?.payload.resolvedInputs).toMatchObject({ prompt: "y".repeat(20_000) });
    expect(events.at(-1)?.payload.outputs).toMatchObject({
      content: { _truncated: true },
      meta: { _truncated: true, type: "object" },
    });
  });

  test("end with `step_error` instead of `step_done` when the agent fails", async () => {
    const agent = async () => {
      publish("llm_error", { error: "overloaded" });
      throw new Error("overloaded");
    };
    const failed = await failureOf(planner({ agent }));
    expect(events.map(({ type }) => type)).toEqual(["step_start", "llm_error", "step_error"]);
    expect(failed).toMatchObject({ message: "overloaded", kept: { role: "planner" } });
  });
});

group("errors", () => {
  test("an agent that does not return a string fails with an error that says so", async () => {
    const agent = (async () => 7) as unknown as Spec["agent"];
    expect(await failureOf(planner({ agent }))).toMatchObject({ code: "BAD_AGENT_RESULT" });
  });

  test("a schema with a reserved field is refused at definition", () => {
    const bad = () =>
      role({ ...specOf(), schema: z.object({ cost: z.number() }) as unknown as typeof schema });
    expect(bad).toThrow("a role's schema has the field cost");
  });

  test("an agent may throw frozen errors and values that are not errors", async () => {
    const throwing = (thrown: unknown) => planner({ agent: () => Promise.reject(thrown) });
    const frozen = Object.freeze(new Error("as it is"));
    expect(await failureOf(throwing(frozen))).toMatchObject({ message: "as it is" });
    const outcome = await runThread(twice(throwing("a word")));
    expect(outcome).toMatchObject({ status: "failed", message: "a word", error: "a word" });
  });

  test("a kill is passed on unchanged", async () => {
    const controller = new AbortController();
    const agent: Spec["agent"] = async ({ signal }) => {
      controller.abort();
      signal?.throwIfAborted();
      return "";
    };
    const { signal } = controller;
    expect((await runThread(twice(planner({ agent })), { signal })).status).toBe("killed");
    expect(events.map(({ type }) => type)).toEqual(["step_start"]);
  });

  const specOf = (): Spec => ({
    description: "x",
    agent: async () => "",
    systemPrompt: "",
    schema,
  });
});

test("a descriptor has the fields of each role, including the fields for spending", () => {
  const { description, roles } = describe("Plans", {
    planner: planner(),
    person: { description: "Approves", schema: true },
  });
  expect(description).toBe("Plans");
  expect(roles.person).toEqual({ description: "Approves", schema: true });
  expect(roles.planner).toMatchObject({
    description: "Plans the change",
    schema: { type: "object", required: ["files", "usage", "model", "cost"] },
  });
});

group("a role in a durable workflow", () => {
  const run = durable(async function* (step, input, options) {
    const play = roleSteps(step, input, options);
    const plan = yield* play("planner", planner());
    const again = yield* play("planner", planner(), `After ${plan.meta.files.join()}`);
    return again.meta.files.join();
  });

  test("is a step with the given prompt", async () => {
    const { steps, ...end } = await runThread(run, { prompt: "fix it" });
    expect(end).toMatchObject({ status: "completed", result: { summary: "b.ts" } });
    expect(steps.map(({ meta }) => meta.files)).toEqual([["a.ts"], ["b.ts"]]);
    const prompts = events.filter(({ type }) => type === "step_start");
    expect(prompts.map(({ stepID, payload }) => [stepID, payload.resolvedInputs])).toMatchObject([
      ["planner", { prompt: "fix it" }],
      ["planner", { prompt: "After a.ts" }],
    ]);
  });

  test("does not run again if its step is in the log", async () => {
    const first = await runThread(run, { prompt: "fix it", maxRounds: 1 });
    events = [];
    const { steps } = await runThread(run, { prompt: "fix it", steps: first.steps });
    expect(steps.map(({ meta }) => meta.files)).toEqual([["a.ts"], ["b.ts"]]);
    expect(events.filter(({ type }) => type === "step_start")).toHaveLength(1);
  });

  test("fails with the role's error, which has the raw text", async () => {
    const broken = durable(async function* (step, input, options) {
      yield* roleSteps(step, input, options)("planner", planner({ agent: async () => "a.ts" }));
      return "";
    });
    const outcome = await runThread(broken);
    const error = outcome.status === "failed" && outcome.reason === "failed" ? outcome.error : null;
    expect(isWorkflowError(error)).toBe(true);
    expect(error).toMatchObject({ code: "EXTRACTION_FAILED", kept: { raw: "a.ts" } });
  });
});

test("an unknown option value is refused at definition", () => {
  const spec = {
    ...{ description: "Plans", systemPrompt: "Plan.", schema: z.object({}) },
    agent: scriptedAgent(["done"]),
  };
  expect(() => role({ ...spec, durable: "steps" as "role" })).toThrow(
    "a role's durable can't be \"steps\"",
  );
  expect(() => role({ ...spec, answer: "json" as "text" })).toThrow(
    "a role's answer can't be \"json\"",
  );
});
