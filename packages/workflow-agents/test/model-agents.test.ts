import { afterEach, describe, expect, test } from "bun:test";
import { z } from "zod";
import type { ProviderError } from "../src/llm/error.ts";
import { role } from "../src/role/role.ts";
import type { ToolRunner } from "../src/tools/tools.ts";
import { allModels as models, threadAt } from "./models.ts";
import { failureOf, observed, payloadOf, threadOf, typesOf } from "./published.ts";
import type { Reply, WireServer } from "./wire.ts";

const servers: { stop: () => Promise<void> }[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.stop()));
});

/** Returns a tool runner that records its calls and the largest number of concurrent calls. */
function testTools(): ToolRunner & { ran: string[]; most: number } {
  let running = 0;
  const tools = {
    ran: [] as string[],
    most: 0,
    definitions: async () => [
      { name: "add", description: "Adds.", input_schema: { type: "object", properties: {} } },
    ],
    async run(name: string, input: unknown) {
      running += 1;
      tools.most = Math.max(tools.most, running);
      await Bun.sleep(5);
      running -= 1;
      tools.ran.push(`${name} ${JSON.stringify(input)}`);
      const is_error = name !== "add";
      return { content: is_error ? `unknown tool ${name}` : "3", is_error };
    },
  };
  return tools;
}

describe.each(models)("the $name agent", (model) => {
  async function serve(replies: Reply[]): Promise<WireServer<{ model: string }>> {
    const server = await model.serve(replies);
    servers.push(server);
    return server;
  }

  test("streams thinking and text as events, and answers with the text", async () => {
    const server = await serve([{ thinking: "let me see", text: "the sum is fixed" }]);
    const run = await observed(() => model.agent()(threadAt(model, server), "You code"));
    expect(run.text).toBe("the sum is fixed");
    expect(typesOf(run)).toEqual(["llm_thinking", "llm_token", "llm_done"]);
    const said = run.events.filter(({ type }) => type === "llm_token");
    expect(said.map(({ payload }) => payload.delta).join("")).toBe("the sum is fixed");
    expect(said.length).toBe(4);
    expect(payloadOf(run, "llm_done")).toMatchObject({
      model: "claude-opus-5-5",
      thinking_tokens: 3,
      has_tool_use: false,
    });
  });

  test("sends the model the prompt, the steps so far and the role's system prompt", async () => {
    const server = await serve([{ text: "ok" }]);
    const steps = [{ role: "planner", content: "1. read", meta: {}, timestamp: 1 }];
    await model.agent()(threadAt(model, server, { steps }), "You code");
    const asked = JSON.stringify(server.came[0]?.body);
    expect(asked).toContain("You code");
    expect(asked).toContain("fix the sum");
    expect(asked).toContain('<step number=\\"1\\" role=\\"planner\\">\\n1. read\\n</step>');
  });

  test("runs several tools of a turn in parallel, until the model ends its turn", async () => {
    const server = await serve([
      {
        thinking: "two sums",
        text: "I add.",
        tools: [
          { name: "add", input: { a: 1, b: 2 } },
          { name: "add", input: { a: 3 } },
        ],
      },
      { text: "done" },
    ]);
    const tools = testTools();
    const run = await observed(() => model.agent({ tools })(threadAt(model, server), "You code"));
    expect(run.text).toBe("done");
    expect(tools.most).toBe(2);
    expect(tools.ran.sort()).toEqual(['add {"a":1,"b":2}', 'add {"a":3}']);
    expect(typesOf(run)).toEqual([
      "llm_thinking",
      "llm_token",
      "llm_tool_use",
      "llm_tool_result",
      "llm_token",
      "llm_done",
    ]);
    const uses = run.events.filter(({ type }) => type === "llm_tool_use");
    const results = run.events.filter(({ type }) => type === "llm_tool_result");
    expect(uses.map(({ payload }) => payload.name)).toEqual(["add", "add"]);
    expect(new Set(results.map(({ payload }) => payload.tool_use_id))).toEqual(
      new Set(uses.map(({ payload }) => payload.tool_use_id)),
    );
    expect(payloadOf(run, "llm_done").has_tool_use).toBe(true);
  });

  test("reports a tool's failure and invalid arguments to the model", async () => {
    const server = await serve([
      {
        tools: [{ name: "nothing" }, { name: "add", json: '{"a": 1' }, { name: "add", json: "7" }],
      },
      { text: "I see" },
    ]);
    const tools = testTools();
    const run = await observed(() => model.agent({ tools })(threadAt(model, server), ""));
    expect(run.text).toBe("I see");
    expect(tools.ran).toEqual(["nothing {}"]);
    const results = run.events.filter(({ type }) => type === "llm_tool_result");
    expect(results.map(({ payload }) => payload.is_error)).toEqual([true, true, true]);
    const reported = JSON.stringify(server.came[1]?.body);
    expect(reported).toContain("unknown tool nothing");
    expect(reported).toContain("its arguments are invalid JSON");
    expect(reported).toContain("its arguments are JSON, but not an object");
  });

  test("reports the tokens that the server counted, call by call", async () => {
    const words = "many words that are said again with each turn of the conversation ".repeat(4);
    const server = await serve([
      { thinking: "hm", tools: [{ name: "add", input: { a: 1 } }] },
      { tools: [{ name: "add" }] },
      { thinking: "well then", text: "done" },
    ]);
    const run = await observed(() =>
      model.agent({ tools: testTools() })(threadAt(model, server), words),
    );
    const { counted } = server;
    const sum = (of: (usage: (typeof run.spent)[number]["usage"]) => number) =>
      run.spent.reduce((so, { usage }) => so + of(usage), 0);
    expect(run.spent.length).toBe(3);
    expect({
      requests: run.spent.length,
      input: sum((usage) => usage.input_tokens),
      output: sum((usage) => usage.output_tokens),
      thinking: sum((usage) => usage.thinking_tokens),
      cacheRead: sum((usage) => usage.cache_read_tokens),
      cacheWrite: sum((usage) => usage.cache_write_tokens),
    }).toEqual(counted);
    expect(counted.cacheRead).toBeGreaterThan(100);
    const total = counted.input + counted.output + counted.cacheRead + counted.cacheWrite;
    expect(payloadOf(run, "llm_done").usage).toMatchObject({
      output_tokens: counted.output,
      total_tokens: total,
    });
  });

  test("reports the usage and cost of each call as soon as the provider reports the usage", async () => {
    const server = await serve([{ tools: [{ name: "add" }] }, { text: "It is 3." }]);
    const agent = model.agent({ tools: testTools() });
    const run = await observed(() => agent(threadAt(model, server), ""), {
      withCost: (spent) => ({ ...spent, cost: 0.5 }),
    });
    const begun = run.events.filter(({ type }) => type === "llm_start");
    const ids = begun.map(({ payload }) => payload.call_id);
    expect(new Set(ids).size).toBe(2);
    expect(begun.map(({ payload }) => payload.model)).toEqual([
      "claude-opus-5-5",
      "claude-opus-5-5",
    ]);
    const reported = run.events.filter(({ type }) => type === "llm_usage");
    const whole = reported.filter(({ payload }) => payload.state === "whole");
    expect(whole.map(({ payload }) => payload.call_id)).toEqual(ids);
    expect(whole.map(({ payload }) => payload.usage)).toEqual(run.spent.map(({ usage }) => usage));
    expect(whole.map(({ payload }) => payload.cost_usd)).toEqual([0.5, 0.5]);
    expect(reported.length).toBeGreaterThan(2);
    const [first] = reported;
    expect(first?.payload.state).toBe("open");
  });

  test("checks the limit before each call, and sends no call that could exceed it", async () => {
    const server = await serve([{ text: "ok" }]);
    const reserve = () => {
      throw new Error("too dear");
    };
    const run = await observed(() => model.agent()(threadAt(model, server), ""), {
      reserve,
      isLimited: true,
    });
    expect(run.error).toEqual(new Error("too dear"));
    expect(server.came).toEqual([]);
  });

  test("sends the reserved amount as the maximum of each answer in a thread with a limit", async () => {
    const server = await serve([{ text: "ok" }]);
    const schema = z.object({});
    const play = role({ description: "", agent: model.agent(), systemPrompt: "Do it.", schema });
    await play(threadAt(model, server));
    await play(threadAt(model, server, { options: { maxTokens: 100_000 } }));
    type Bound = { max_tokens?: number; max_output_tokens?: number };
    const boundOf = ({ body }: { body: object } = { body: {} }) => {
      const { max_tokens, max_output_tokens } = body as Bound;
      return max_tokens ?? max_output_tokens;
    };
    const sent = server.came.map(boundOf);
    const own = model.name === "anthropic" ? 32_000 : undefined;
    expect(sent).toEqual([own, own ?? 16_384]);
    const within = (most: number) => threadAt(model, server, { options: { maxTokens: most } });
    await play(within(own ?? 16_384));
    const capped = boundOf(server.came.at(-1));
    expect(capped).toBeLessThan(own ?? 16_384);
    expect(capped).toBeGreaterThan(10_000);
    expect(await failureOf(play(within(1000)))).toMatchObject({ code: "BUDGET_EXCEEDED" });
  });

  test("answers with the last text of a model whose last turn has no text", async () => {
    const server = await serve([{ text: "I add.", tools: [{ name: "add" }] }, {}]);
    const agent = model.agent({ tools: testTools() });
    expect(await agent(threadAt(model, server), "")).toBe("I add.");
  });

  test("fails after the maximum number of turns", async () => {
    const server = await serve([{ tools: [{ name: "add" }] }]);
    const agent = model.agent({ tools: testTools(), maxTurns: 3 });
    const run = await observed(() => agent(threadAt(model, server), ""));
    expect((run.error as ProviderError).code).toBe("LLM_TOO_MANY_TURNS");
    expect(server.came.length).toBe(3);
  });

  test("reports the full input and output of its tools, whatever their length", async () => {
    const large = "x".repeat(20_000);
    const server = await serve([{ tools: [{ name: "add", input: { large } }] }, { text: "ok" }]);
    const tools = { ...testTools(), run: async () => ({ content: large, is_error: false }) };
    const run = await observed(() => model.agent({ tools })(threadAt(model, server), ""));
    expect(payloadOf(run, "llm_tool_use").input).toEqual({ large });
    expect(payloadOf(run, "llm_tool_result").content).toBe(large);
    expect(JSON.stringify(server.came[1]?.body).split(large).length).toBe(3);
  });

  test("refuses tools in a thread without a working directory", async () => {
    const server = await serve([{ text: "ok" }]);
    const thread = { ...threadOf({ env: model.env(server) }), cwd: undefined as never };
    const run = await observed(() => model.agent({ tools: testTools() })(thread, ""));
    expect(run.error).toMatchObject({ code: "NO_CWD" });
  });
});
