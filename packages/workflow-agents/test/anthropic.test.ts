import { afterEach, expect, test } from "bun:test";
import type { MessageCreateParams } from "@anthropic-ai/sdk/resources/messages/messages";
import { anthropicAgent, type AnthropicOptions } from "../src/anthropic/anthropic.ts";
import type { Block } from "../src/llm/provider.ts";
import type { ToolRunner } from "../src/tools/tools.ts";
import { anthropicServer } from "./anthropic-server.ts";
import { failureOf, threadOf } from "./published.ts";
import type { Reply, WireServer } from "./wire.ts";

const servers: WireServer<MessageCreateParams>[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.stop()));
});

async function asked(
  replies: Reply[],
  options: Partial<AnthropicOptions> = {},
  system = "You code",
) {
  const server = await anthropicServer(replies);
  servers.push(server);
  const env = { ANTHROPIC_API_KEY: server.key, ANTHROPIC_BASE_URL: server.url };
  const agent = anthropicAgent({ model: "claude-opus-5-5", ...options });
  const text = await agent(threadOf({ env }), system);
  return { text, bodies: server.came.map(({ body }) => body), server };
}

const blocks = (body: MessageCreateParams | undefined, at: number): Block[] => {
  return (body?.messages.at(at)?.content ?? []) as unknown as Block[];
};

const tools: ToolRunner = {
  definitions: async () => [
    { name: "one", description: "1", input_schema: { properties: {} } },
    { name: "two", description: "2", input_schema: { properties: {} } },
  ],
  run: async () => ({ content: "done", is_error: false }),
};

test("the model's thinking is sent back unchanged, with its signature", async () => {
  const { bodies } = await asked(
    [{ thinking: "two steps", tools: [{ name: "one", input: { n: 1 } }] }, { text: "ok" }],
    { tools, thinking: "adaptive" },
  );
  expect(bodies[0]?.thinking).toEqual({ type: "adaptive", display: "summarized" });
  expect(blocks(bodies[1], 1)).toEqual([
    { type: "thinking", thinking: "two steps", signature: "signed:two steps" },
    { type: "tool_use", id: "toolu_0_0", name: "one", input: { n: 1 } },
  ]);
});

test("thinking is requested in each mode of the API, and left out by default", async () => {
  const thinking = async (options: Partial<AnthropicOptions>) =>
    (await asked([{ text: "ok" }], options)).bodies[0]?.thinking;
  expect(await thinking({})).toBeUndefined();
  expect(await thinking({ thinking: "disabled" })).toEqual({ type: "disabled" });
  expect(await thinking({ thinking: "between_tools" })).toEqual({ type: "between_tools" });
  expect(await thinking({ thinking: { budgetTokens: 2048 } })).toEqual({
    type: "enabled",
    budget_tokens: 2048,
    display: "summarized",
  });
});

test("the system prompt, the last tool and the last two messages end the cached prefixes", async () => {
  const { bodies, server } = await asked(
    [{ tools: [{ name: "one" }, { name: "two" }] }, { text: "ok" }],
    { tools },
    "You code. ".repeat(50),
  );
  const mark = { cache_control: { type: "ephemeral" } };
  for (const [turn, body] of bodies.entries()) {
    expect(body.system).toEqual([expect.objectContaining(mark)]);
    expect(body.tools?.map((tool) => "cache_control" in tool)).toEqual([false, true]);
    expect(blocks(body, -1).at(-1)).toMatchObject(mark);
    expect(JSON.stringify(body).split("cache_control").length - 1).toBe(3 + turn);
  }
  expect(server.counted.cacheRead).toBeGreaterThan(100);

  const { bodies: plain } = await asked([{ text: "ok" }], { tools, cache: false });
  expect(JSON.stringify(plain)).not.toContain("cache_control");
});

test("only documented request options are sent", async () => {
  const { bodies } = await asked([{ text: "ok" }], {
    maxTokens: 500,
    temperature: 0.5,
    effort: "low",
  });
  expect(bodies[0]).toMatchObject({
    max_tokens: 500,
    temperature: 0.5,
    output_config: { effort: "low" },
  });
  const { bodies: plain } = await asked([{ text: "ok" }], {}, "");
  expect(Object.keys(plain[0] ?? {}).sort()).toEqual(["max_tokens", "messages", "model", "stream"]);
});

test("a paused turn continues in the next request", async () => {
  const { text, bodies } = await asked([
    { text: "I look ", stop: "pause_turn" },
    { text: "it up.", stop: "end_turn" },
  ]);
  expect(text).toBe("I look it up.");
  // The API refuses an answer that ends with white space.
  expect(bodies[1]?.messages.at(-1)).toEqual({
    role: "assistant",
    content: [{ type: "text", text: "I look" }],
  });
});

test("a stop sequence ends the turn", async () => {
  const { text } = await asked([{ text: "until here", stop: "stop_sequence" }]);
  expect(text).toBe("until here");
});

test("a full context has its own error", async () => {
  const reply = { text: "and", stop: "model_context_window_exceeded" };
  expect(await failureOf(asked([reply]))).toMatchObject({ code: "LLM_CONTEXT_FULL" });
});
