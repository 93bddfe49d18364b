import { afterEach, describe, expect, test } from "bun:test";
import { modelClient, type ModelClientOptions } from "../src/llm/client.ts";
import type { ToolResult, ToolUse } from "../src/llm/provider.ts";
import type { ToolRunner } from "../src/tools/tools.ts";
import { models } from "./models.ts";
import { failureOf } from "./published.ts";
import type { Reply } from "./wire.ts";

const stops: (() => Promise<void>)[] = [];
afterEach(async () => {
  await Promise.all(stops.splice(0).map((stop) => stop()));
});

const messages = [{ role: "user" as const, content: "hello" }];
const tool = { name: "add", description: "Adds.", input_schema: { type: "object" } };

describe.each(models)("the adapter over $name", (model) => {
  async function adapter(replies: Reply[], options: Partial<ModelClientOptions> = {}) {
    const server = await model.serve(replies);
    stops.push(server.stop);
    return { llm: modelClient(model.provider(), { env: model.env(server), ...options }), server };
  }

  test("gives the documented result, and defaults to an opus", async () => {
    const { llm, server } = await adapter([{ thinking: "hm", text: "hello you" }]);
    const tokens: string[] = [];
    const thoughts: string[] = [];
    const result = await llm.call({ messages, stream: true }, undefined, {
      onToken: (delta) => tokens.push(delta),
      onThinking: (delta) => thoughts.push(delta),
    });
    const { counted } = server;
    expect(result).toMatchObject({
      content: "hello you",
      thinking: "hm",
      model: "claude-opus-5-5",
      usage: {
        input_tokens: counted.input + counted.cacheRead + counted.cacheWrite,
        output_tokens: counted.output,
        thinking_tokens: counted.thinking,
      },
    });
    expect(result.finish_reason).toBe(result.stop_reason);
    expect(result).not.toHaveProperty("tool_use");
    expect([tokens.join(""), thoughts.join("")]).toEqual(["hello you", "hm"]);
  });

  test("calls the legacy callback of tokens too, and none when it is not to stream", async () => {
    const { llm } = await adapter([{ text: "hello you" }]);
    let observed = "";
    await llm.call({ messages }, (delta) => (observed += delta));
    expect(observed).toBe("hello you");
    await llm.call({ messages, stream: false }, (delta) => (observed += delta));
    expect(observed).toBe("hello you");
  });

  test("hands tool calls to who called it when it has no tools of its own", async () => {
    const { llm } = await adapter([{ tools: [{ name: "add", input: { a: 1 } }] }]);
    const uses: ToolUse[] = [];
    const result = await llm.call({ messages, tools: [tool] }, undefined, {
      onToolUse: (use) => uses.push(use),
    });
    expect(result.content).toBe("");
    expect(result.tool_use).toEqual([{ id: expect.any(String), name: "add", input: { a: 1 } }]);
    expect(result.tool_calls).toEqual(result.tool_use);
    expect(uses).toEqual(result.tool_use ?? []);
  });

  test("goes on with tools of its own until the model ends its turn", async () => {
    const { llm, server } = await adapter([{ tools: [{ name: "add" }] }, { text: "3" }], {
      tools: {
        definitions: async () => [tool],
        run: async () => ({ content: "3", is_error: false }),
      } satisfies ToolRunner,
    });
    const results: ToolResult[] = [];
    const result = await llm.call({ messages }, undefined, {
      onToolResult: (one) => results.push(one),
    });
    expect(result.content).toBe("3");
    expect(result.usage.output_tokens).toBe(server.counted.output);
    expect(results).toMatchObject([{ content: "3", is_error: false }]);
  });

  test("takes up a conversation in the documented blocks", async () => {
    const { llm, server } = await adapter([{ text: "ok" }]);
    await llm.call({
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

  test("gives an object when one is asked for, also one in a fence", async () => {
    const schema = { type: "object", properties: { n: { type: "number" } }, required: ["n"] };
    const { llm, server } = await adapter([
      { text: '{"n": 1}' },
      { text: '```json\n{"n": 2}\n```' },
    ]);
    const output_config = { type: "json_schema" as const, schema };
    expect((await llm.call({ messages, output_config })).content).toEqual({ n: 1 });
    expect(JSON.stringify(server.came[0]?.body)).toContain('"json_schema"');
    expect((await llm.call({ messages, output_config })).content).toEqual({ n: 2 });
  });

  test("fails by name when the object is none, or the schema is missing", async () => {
    const { llm } = await adapter([{ text: "one" }]);
    const json = { messages, output_config: { type: "json_object" as const } };
    expect(await failureOf(llm.call(json))).toMatchObject({
      type: "json_parse_error",
      retryable: true,
    });
    const lost = { messages, output_config: { type: "json_schema" as const } };
    expect(await failureOf(llm.call(lost))).toMatchObject({ code: "LLM_BAD_REQUEST" });
  });
});
