import { afterEach, describe, expect, test } from "bun:test";
import { isWorkflowError } from "@uncaged/workflow";
import { z } from "zod";
import { asTool } from "../src/role/as-tool.ts";
import { role } from "../src/role/role.ts";
import { tool } from "../src/tools/tools.ts";
import { toolRegistry } from "../src/tools/registry.ts";
import { allModels, type Model, threadAt } from "./models.ts";
import { agentEventsOf, failureOf, observed } from "./published.ts";
import type { Reply, ReplyTool } from "./wire.ts";
import { some } from "../../workflow/test/fixtures/cases.ts";

/* Tests tools that misbehave, and calls that break a tool's schema. The model reads the problem and continues. */
let stop: (() => Promise<void>) | null = null;
afterEach(async () => await stop?.());

/** Runs an agent whose model makes these calls, turn by turn. Returns the tool results and the request bodies. */
async function played(model: Model, tools: ReturnType<typeof tool>[], turns: ReplyTool[][]) {
  const replies: Reply[] = turns.map((calls) => ({ text: "Now.", tools: calls }));
  const server = await model.serve([...replies, { text: "Done." }]);
  ({ stop } = server);
  const agent = model.agent({ tools: toolRegistry(tools, { timeoutMs: 50 }) });
  const run = await observed(() => agent(threadAt(model, server, { cwd: "/" }), "You work."));
  expect([run.error, run.text]).toEqual([null, "Done."]);
  const results = agentEventsOf(run).filter(({ type }) => type === "llm_tool_result");
  return {
    results: results.map(({ payload }) => payload),
    bodies: server.came.map(({ body }) => JSON.stringify(body)),
  };
}

const codeOf = (error: unknown) => (isWorkflowError(error) ? error.code : error);

const deep = (depth: number) => `{"n": ${"[".repeat(depth)}${"]".repeat(depth)}}`;
const brokenInputs = {
  nothing: "",
  "no JSON": '{"n": 1',
  "a list": "[1]",
  null: "null",
  "a text": '"n"',
  "a number": "7",
  "another type": '{"n": "1"}',
  "no field": "{}",
  "a number that is too large": '{"n": 1e999}',
  "a fraction": '{"n": 1.5}',
  "a prototype": '{"__proto__": {"n": 1}, "constructor": 1}',
  "values of 2,000 levels": deep(2000),
  "a long text": JSON.stringify({ n: "x".repeat(1e5) }),
  "a lone half of a character": '{"n": "\\ud800"}',
};

describe.each(some(allModels))("over $name", (model) => {
  test("an input that breaks its schema never reaches the tool, and each call gets a result", async () => {
    let calls = 0;
    const count = tool({
      ...{ name: "count", description: "Counts", input: z.object({ n: z.int() }) },
      execute: () => (calls += 1),
    });
    const turns = Object.values(brokenInputs).map((json) => [{ name: "count", json }]);
    const { results } = await played(model, [count], turns);
    expect(results.map(({ is_error }) => is_error)).toEqual(turns.map(() => true));
    for (const { content } of results)
      expect(String(content)).toMatch(/count was not run|arguments of count/);
    expect(calls).toBe(0);
  });

  test("a tool that changes its input does not change the call in the conversation", async () => {
    const input = z.object({ data: z.record(z.string(), z.unknown()), list: z.unknown() });
    const spoil = ({ data, list }: z.infer<typeof input>): void => {
      (data.inner as { n: number }).n = 666;
      (list as number[]).push(666);
    };
    const change = tool({
      ...{ name: "change", description: "Changes", input },
      approve(given) {
        spoil(given);
        return false;
      },
      execute: (given) => spoil(given),
    });
    const given = { data: { inner: { n: 1 } }, list: [1] };
    const { results, bodies } = await played(model, [change], [[{ name: "change", input: given }]]);
    expect(results.map(({ is_error }) => is_error)).toEqual([false]);
    expect(bodies).toHaveLength(2);
    expect(bodies.join("")).not.toContain("666");
  });

  test("a tool that changes its thread object does not affect other tools, even in a called role", async () => {
    const seen: unknown[] = [];
    const spoil = tool({
      ...{ name: "spoil", description: "Spoils", input: z.object({}) },
      execute(_, { thread, env }) {
        if (!thread) throw new Error("missing thread");
        const {
          steps,
          allSteps = [],
          start,
          options,
          params,
        } = structuredClone({
          ...{ steps: thread.steps, allSteps: thread.allSteps, start: thread.start },
          ...{ options: thread.options, params: thread.params },
        });
        seen.push({ steps, allSteps: allSteps.length, start: start.content, options, params });
        for (const list of [thread.steps, thread.allSteps as typeof thread.steps]) {
          for (const step of list) Object.assign(step, { content: "666", meta: { n: 666 } });
          list.push({ ...thread.start, role: "evil", content: "666", meta: {} });
        }
        thread.start.content = "666";
        Object.assign(thread.options ?? {}, { maxCost: 666 });
        Object.assign(thread.params ?? {}, { spoilt: 666 });
        Object.assign(thread.env ?? {}, { SPOILT: "666" });
        Object.assign(env, { SPOILT: "666" });
        return "spoilt";
      },
    });
    const call = { text: "Now.", tools: [{ name: "spoil" }] };
    const ask = { text: "Now.", tools: [{ name: "inner", input: { message: "Spoil it." } }] };
    const server = await model.serve([call, ask, call, { text: "I did." }, { text: "Done." }]);
    ({ stop } = server);
    const parts = { description: "", systemPrompt: "You work.", schema: z.object({}) };
    const inner = role({ ...parts, agent: model.agent({ tools: toolRegistry([spoil]) }) });
    const tools = toolRegistry([spoil, asTool(inner, { name: "inner" })]);
    const outer = role({ ...parts, agent: model.agent({ tools }) });
    const steps = [{ role: "before", content: "well", meta: { n: 1 }, timestamp: 1 }];
    const thread = threadAt(model, server, {
      ...{ steps, allSteps: [...steps], params: { given: 1 }, options: { maxCost: 5 } },
    });
    const before = JSON.stringify([thread, thread.env]);
    expect((await outer(thread)).content).toBe("Done.");
    expect(JSON.stringify([thread, thread.env])).toBe(before);
    const bodies = server.came.map(({ body }) => JSON.stringify(body));
    expect(bodies).toHaveLength(5);
    expect(bodies.join("")).not.toContain("666");
    const all = { allSteps: 1, options: { maxCost: 5 }, params: { given: 1 } };
    expect(seen).toEqual([
      { ...all, steps, start: "fix the sum" },
      { ...all, steps: [], start: "Spoil it." },
    ]);
  });

  test("a tool that runs an agent in its thread spends within the thread's limit", async () => {
    const inner = model.agent({ maxTokens: 100_000 });
    const ask = tool({
      ...{ name: "ask", description: "Asks", input: z.object({}) },
      execute: async (_, { thread }) => {
        if (!thread) throw new Error("missing thread");
        const parts = { description: "", systemPrompt: "You help.", schema: z.object({}) };
        const { content } = await role({ ...parts, agent: inner })({ ...thread, steps: [] });
        return content;
      },
    });
    const spends = { text: "x".repeat(2e5), tools: [{ name: "ask" }] };
    const server = await model.serve([spends, { text: "Here." }, { text: "Done." }]);
    ({ stop } = server);
    const parts = { description: "", systemPrompt: "You work.", schema: z.object({}) };
    const outer = role({
      ...parts,
      agent: model.agent({ maxTokens: 100_000, tools: toolRegistry([ask]) }),
    });
    const thread = threadAt(model, server, { allSteps: [], options: { maxTokens: 120_000 } });
    // An agent that bounds its input by bytes exceeds the limit in a later call.
    expect<unknown[]>([null, "BUDGET_EXCEEDED"]).toContain(codeOf(await failureOf(outer(thread))));
    const bounds = server.came.map(({ body }) => {
      const [, most] =
        /"max_(?:completion_|output_)?tokens":(\d+)/.exec(JSON.stringify(body)) ?? [];
      return Number(most);
    });
    // The caller's spending reduces the limit of the inner agent.
    expect(bounds[1]).toBeLessThan(bounds[0] ?? 0);
    expect(bounds[1]).toBeLessThan(71_000);
  });

  test("the model reads an error in place of a result that is too large to record", async () => {
    const print = tool({
      ...{ name: "print", description: "Prints", input: z.object({ mib: z.number() }) },
      execute: ({ mib }) => "x".repeat(mib * 2 ** 20),
    });
    const calls = [40, 30].map((mib) => ({ name: "print", input: { mib } }));
    const server = await model.serve([{ text: "Now.", tools: calls }, { text: "Done." }]);
    ({ stop } = server);
    const agent = model.agent({ tools: toolRegistry([print], { maxResult: 1e9 }), context: false });
    const run = await observed(() => agent(threadAt(model, server), "You print."));
    const results = agentEventsOf(run).filter(({ type }) => type === "llm_tool_result");
    expect(
      results.map(({ payload }) => [payload.is_error, String(payload.content).length]),
    ).toEqual([
      [true, expect.any(Number)],
      [false, 30 * 2 ** 20],
    ]);
    expect(String(results[0]?.payload.content)).toBe(
      "the tool's result has 40.0 MiB and can't be recorded: the limit is 31 MiB\n" +
        "make the tool return less, such as a part of the result or the path of a file",
    );
    expect([run.error, run.text]).toEqual([null, "Done."]);
  });

  test("a hanging tool ends at its timeout, and a result of 100 MB is truncated", async () => {
    const input = z.object({});
    const hang = tool({
      ...{ name: "hang", description: "Hangs", input },
      execute: () => new Promise(() => undefined),
    });
    const print = tool({
      ...{ name: "print", description: "Prints", input },
      execute: () => "x".repeat(1e8),
    });
    const { results, bodies } = await played(
      model,
      [hang, print],
      [[{ name: "hang" }, { name: "print" }]],
    );
    const texts = results.map(({ content }) => String(content)).sort();
    expect(texts[0]).toStartWith("the tool hang was stopped after 50 ms");
    expect(texts[1]).toContain("[truncated: the first 100000 of 100000000 characters]");
    expect(bodies[1]?.length).toBeLessThan(110_000);
  });
});
