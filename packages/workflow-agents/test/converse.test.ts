import { afterEach, describe, expect, test } from "bun:test";
import { noUsage } from "@uncaged/workflow/interpreter";
import { until } from "../../workflow/test/fixtures/until.ts";
import { type Conversation, converse } from "../src/llm/converse.ts";
import type { ModelProvider, ModelRequest, ToolResult, ToolUse } from "../src/llm/provider.ts";
import type { ToolRunner } from "../src/tools/tools.ts";
import { headersOf } from "./limited/server.ts";
import { allModels as models } from "./models.ts";
import { type Observed, observed } from "./published.ts";
import type { Reply } from "./wire.ts";

const stops: (() => Promise<void>)[] = [];
afterEach(async () => {
  await Promise.all(stops.splice(0).map((stop) => stop()));
});

const model = "claude-opus-5-5";
const messages = [{ role: "user" as const, content: "hello" }];
const tool = { name: "add", description: "Adds.", input_schema: { type: "object" } };

describe.each(models)("a conversation over $name", (one) => {
  async function talk(
    replies: Reply[],
    request: Partial<ModelRequest> = {},
    options: Partial<Conversation> = {},
  ) {
    const server = await one.serve(replies);
    stops.push(server.stop);
    const asked = { model, system: "", messages, tools: [], ...request };
    const end = await converse(one.provider(), asked, { env: one.env(server), ...options });
    return { end, server };
  }

  test("streams and returns the text, the thinking and the tokens of the answer", async () => {
    const tokens: string[] = [];
    const thoughts: string[] = [];
    const callbacks = {
      onToken: (delta: string) => void tokens.push(delta),
      onThinking: (delta: string) => void thoughts.push(delta),
    };
    const { end, server } = await talk([{ thinking: "hm", text: "hello you" }], {}, { callbacks });
    const { counted } = server;
    expect(end).toMatchObject({
      text: "hello you",
      thinking: "hm",
      model,
      toolUses: [],
      hasToolUse: false,
      usage: {
        input_tokens: counted.input,
        cache_read_tokens: counted.cacheRead,
        cache_write_tokens: counted.cacheWrite,
        output_tokens: counted.output,
        thinking_tokens: counted.thinking,
      },
    });
    expect([tokens.join(""), thoughts.join("")]).toEqual(["hello you", "hm"]);
  });

  test("returns tool calls to its caller when it has no tools", async () => {
    const uses: ToolUse[] = [];
    const callbacks = { onToolUse: (use: ToolUse) => void uses.push(use) };
    const reply = { tools: [{ name: "add", input: { a: 1 } }] };
    const { end } = await talk([reply], { tools: [tool] }, { callbacks });
    expect(end.text).toBe("");
    expect(end.toolUses).toEqual([{ id: expect.any(String), name: "add", input: { a: 1 } }]);
    expect(uses).toEqual(end.toolUses);
  });

  test("runs its own tools until the model ends its turn", async () => {
    const results: ToolResult[] = [];
    const callbacks = { onToolResult: (result: ToolResult) => void results.push(result) };
    const runner: ToolRunner = {
      definitions: async () => [tool],
      run: async () => ({ content: "3", is_error: false }),
    };
    const context = { env: {}, cwd: "/", signal: new AbortController().signal };
    const { end, server } = await talk(
      [{ tools: [{ name: "add" }] }, { text: "3" }],
      { tools: [tool] },
      { callbacks, toolbox: { runner, context } },
    );
    expect(end.text).toBe("3");
    expect(end.hasToolUse).toBe(true);
    expect(end.usage.output_tokens).toBe(server.counted.output);
    expect(results).toMatchObject([{ content: "3", is_error: false }]);
  });

  test("continues another conversation in the documented blocks", async () => {
    const { server } = await talk([{ text: "ok" }], {
      system: "Be brief.",
      messages: [
        { role: "system", content: "And kind." },
        { role: "user", content: "add" },
        { role: "assistant", content: [{ type: "tool_use", id: "t1", name: "add", input: {} }] },
        {
          role: "user",
          content: [{ type: "tool_result", tool_use_id: "t1", content: "no", is_error: true }],
        },
      ],
    });
    const asked = JSON.stringify(server.came[0]?.body);
    for (const part of ["Be brief.", "And kind.", "add", "t1", "no"]) expect(asked).toContain(part);
  });

  test("requests the format of the answer", async () => {
    const schema = { type: "object", properties: { n: { type: "number" } }, required: ["n"] };
    const format = { type: "json_schema" as const, schema };
    const { end, server } = await talk([{ text: '{"n": 1}' }], { format });
    expect(end.text).toBe('{"n": 1}');
    expect(JSON.stringify(server.came[0]?.body)).toContain('"json_schema"');
  });
});

test("a call that waits for a rate limit is neither sent nor recorded", async () => {
  let sent = 0;
  const used = { isAllowed: true, remaining: 0, resetMs: 60_000, waitMs: 0 };
  const target = { provider: "a model", model, baseUrl: crypto.randomUUID(), secrets: [] };
  const provider: ModelProvider = {
    name: "a model",
    target: () => target,
    async answer(_, { onResponse }) {
      sent += 1;
      onResponse?.({ status: 200, headers: new Headers(headersOf("claude", used)) });
      return {
        ...{ id: "1", model, blocks: [], text: "done", thinking: "", toolUses: [] },
        ...{ stop: "end", finishReason: "stop", usage: { ...noUsage, output_tokens: 1 } },
      };
    },
  };
  const ask = (seen: Observed, signal?: AbortSignal) =>
    observed(
      async () => {
        const request = { model, system: "", messages, tools: [] };
        return (await converse(provider, request, { env: {}, signal })).text;
      },
      {},
      seen,
    );
  const observing = (): Observed => ({ events: [], spent: [], text: "", error: null });
  const types = ({ events }: Observed) => events.map(({ type }) => type);
  const first = await ask(observing());
  expect(types(first)).toContain("llm_start");
  const [second, stop] = [observing(), new AbortController()];
  const asking = ask(second, stop.signal);
  await until(() => second.events.length > 0);
  stop.abort(new Error("killed"));
  expect((await asking).error).toEqual(new Error("killed"));
  expect([types(second), sent]).toEqual([["llm_wait"], 1]);
});
