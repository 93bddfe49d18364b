import { afterEach, describe, expect, test } from "bun:test";
import { z } from "zod";
import {
  anthropicAgent,
  openaiAgent,
  type OpenAIOptions,
  tool,
  toolRegistry,
} from "../src/entry/index.ts";
import { anthropicServer } from "./anthropic-server.ts";
import { observed, threadOf } from "./published.ts";
import { responsesServer } from "./responses-server.ts";
import type { Reply } from "./wire.ts";

/* Tests tools that the provider runs, and the reasoning that is sent back to a model. */
const stops: (() => Promise<void>)[] = [];
afterEach(async () => {
  await Promise.all(stops.splice(0).map((stop) => stop()));
});

const toolEvents = ({ events }: Awaited<ReturnType<typeof observed>>) =>
  events.filter(({ type }) => type.startsWith("llm_tool")).map(({ payload }) => payload);

describe("Anthropic", () => {
  const search = {
    type: "server_tool_use",
    id: "srvtoolu_1",
    name: "web_search",
    input: { query: "sums" },
  };
  const found = {
    type: "web_search_tool_result",
    tool_use_id: "srvtoolu_1",
    content: [{ type: "web_search_result", url: "https://example.com", encrypted_content: "x" }],
  };

  test("continues after a pause with the unchanged blocks of the provider's tools", async () => {
    const paused = { hosted: [search, found], stop: "pause_turn", container: "container_1" };
    const replies = [paused, { text: "It is 3." }];
    const server = await anthropicServer(replies);
    stops.push(server.stop);
    const hosted = { type: "web_search_20260209", name: "web_search", max_uses: 3 };
    const agent = anthropicAgent({ model: "claude-opus-5-5", hostedTools: [hosted] });
    const env = { ANTHROPIC_API_KEY: server.key, ANTHROPIC_BASE_URL: server.url };
    const run = await observed(() => agent(threadOf({ env }), "You add."));
    expect([run.error, run.text]).toEqual([null, "It is 3."]);
    const [first, second] = server.came.map(({ body }) => body);
    expect(first?.tools).toMatchObject([hosted]);
    expect([first?.container, second?.container]).toEqual([undefined, "container_1"]);
    expect(second?.messages.at(-1)).toEqual({
      role: "assistant",
      content: [search, found],
    } as never);
    expect(toolEvents(run)).toMatchObject([
      { tool_use_id: "srvtoolu_1", name: "web_search", input: { query: "sums" } },
      { tool_use_id: "srvtoolu_1", content: JSON.stringify(found.content) },
    ]);
  });
});

describe("OpenAI's Responses API", () => {
  const look = () => {
    const made = { ran: 0, tools: toolRegistry([]) };
    const one = tool({
      ...{ name: "look", description: "Looks", input: z.object({}) },
      execute: () => `seen ${(made.ran += 1)}`,
    });
    made.tools = toolRegistry([one]);
    return made;
  };
  const search = {
    type: "web_search_call",
    id: "ws_1",
    status: "completed",
    action: { query: "sums" },
  };

  async function serve(replies: Reply[] | ((body: object) => Reply)) {
    const server = await responsesServer(replies);
    stops.push(server.stop);
    const env = { OPENAI_API_KEY: server.key, OPENAI_BASE_URL: server.url };
    const thread = threadOf({ env });
    const agent = (options: Partial<OpenAIOptions>) =>
      openaiAgent({ model: "gpt-5.5", api: "responses", maxRetries: 0, ...options });
    type Body = { input: Record<string, unknown>[]; include?: string[]; [field: string]: unknown };
    const bodies = () => server.came.map(({ body }) => body as unknown as Body);
    return { server, thread, agent, bodies };
  }

  const turns = [
    { thinking: "hm", hosted: [search], tools: [{ name: "look" }] },
    { thinking: "so", text: "It is 3." },
  ];

  test("stores nothing, and gets the reasoning and the items of hosted tools back in the next turn", async () => {
    const { agent, thread, bodies } = await serve(turns);
    const { tools } = look();
    const options = {
      tools,
      hostedTools: [{ type: "web_search" }],
      effort: "low",
      thinking: "adaptive",
    } as const;
    const run = await observed(() => agent(options)(thread, "You look."));
    expect([run.error, run.text]).toEqual([null, "It is 3."]);
    const [first, second] = bodies();
    expect(first).toMatchObject({
      ...{
        store: false,
        stream: true,
        include: ["reasoning.encrypted_content"],
        instructions: "You look.",
      },
      reasoning: { effort: "low", summary: "auto" },
      tools: [{ type: "web_search" }, { type: "function", name: "look", strict: false }],
    });
    expect(second).not.toHaveProperty("previous_response_id");
    const [asked, reasoning, hosted, call, result] = second?.input ?? [];
    expect(asked).toMatchObject({ role: "user" });
    expect(reasoning).toMatchObject({
      type: "reasoning",
      encrypted_content: expect.stringMatching(/^sealed:/),
    });
    expect(hosted).toEqual(search);
    expect(call).toMatchObject({ type: "function_call", name: "look" });
    expect(result).toEqual({
      type: "function_call_output",
      call_id: call?.call_id,
      output: "seen 1",
    });
    const thoughts = run.events.filter(({ type }) => type === "llm_thinking");
    expect(thoughts.map(({ payload }) => payload.delta).join("")).toBe("hmso");
    expect(toolEvents(run)[0]).toMatchObject({ name: "web_search", tool_use_id: "ws_1" });
  });

  test("is called without encrypted reasoning after the model refused it, and from then on", async () => {
    const message = "Encrypted content is not supported with this model.";
    const refusing = (body: object): Reply =>
      "include" in body
        ? { fault: { kind: "status", status: 400, type: "invalid_request_error", message } }
        : { text: "ok" };
    const { agent, thread, bodies } = await serve(refusing);
    const play = agent({});
    for (const prompt of ["a", "b"]) expect(await play(thread, prompt)).toBe("ok");
    expect(bodies().map(({ include }) => include !== undefined)).toEqual([true, false, false]);
  });

  test("is required for hosted tools, which chat completions do not have", async () => {
    const { agent, thread, bodies } = await serve(turns);
    const play = agent({ api: "chat", hostedTools: [{ type: "web_search" }] });
    const run = await observed(() => play(thread, ""));
    expect(run.error).toMatchObject({
      code: "LLM_BAD_REQUEST",
      message: "chat completions do not support hosted tools",
    });
    expect(bodies()).toEqual([]);
  });

  test("reports the error and the usage of an answer that fails", async () => {
    const { server, agent, thread } = await serve([
      { text: "I be", failed: "rate_limit_exceeded" },
    ]);
    const run = await observed(() => agent({})(thread, ""));
    expect(run.error).toMatchObject({ code: "LLM_RATE_LIMIT", retryable: true });
    expect(run.error).toMatchObject({
      partial: { usage: { output_tokens: server.counted.output } },
    });
  });
});
