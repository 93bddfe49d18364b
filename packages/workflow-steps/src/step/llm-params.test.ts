import { describe, expect, test } from "bun:test";
import type { Adapters, LLMParams } from "../adapter/adapter.ts";
import { answering, carryOut, typesOf } from "../../test/calling.ts";

/** Returns the request that a step with this `in` sends to its adapter. */
async function askedBy(inputs: Record<string, unknown>, env = {}, step = {}, more: Adapters = {}) {
  const { llm, asked } = answering();
  const registry = { schemas: { Sum: { type: "object", required: ["n"] } } };
  const adapters = { llm, ...more };
  const { error } = await carryOut({ id: "LLM_A", ...step }, adapters, { inputs, env, registry });
  const [params] = asked;
  if (!params) throw new Error("the adapter was not called", { cause: error });
  return params;
}

describe("the model", () => {
  const cases: [string, object, Record<string, string>, object, object][] = [
    ["is claude-opus-4-6 by default", {}, {}, {}, { model: "claude-opus-4-6" }],
    ["comes from LLM_MODEL", {}, { LLM_MODEL: "a" }, {}, { model: "a" }],
    [
      "comes from the step before LLM_MODEL",
      {},
      { LLM_MODEL: "a" },
      { model: "b" },
      { model: "b" },
    ],
    ["comes from in before the step", { model: "c" }, {}, { model: "b" }, { model: "c" }],
    ["may include its provider", { model: "openai/g" }, {}, {}, { model: "g", provider: "openai" }],
    [
      "of a provider comes from its own variable",
      {},
      { LLM_MODEL: "a", OPEN_AI_MODEL: "g" },
      { provider: "open-ai" },
      { model: "g", provider: "open-ai" },
    ],
    [
      "keeps its slash if the step names the provider",
      { model: "qwen/qwen3", provider: "openrouter" },
      {},
      {},
      { model: "qwen/qwen3", provider: "openrouter" },
    ],
    [
      "of a provider defaults to the common variable",
      { provider: "x" },
      { LLM_MODEL: "a" },
      {},
      { model: "a" },
    ],
    ["is the default if it is null", { model: null }, {}, {}, { model: "claude-opus-4-6" }],
  ];

  test.each(cases)("%s", async (_, inputs, env, step, expected) => {
    expect(await askedBy({ ...inputs, prompt: "hi" }, env, step)).toMatchObject(expected);
  });

  test.each(["", " ", "/a", "a/", "/", 7])("rejects %p", async (model) => {
    const { llm, asked } = answering();
    const went = await carryOut({ id: "LLM_A" }, { llm }, { inputs: { model } });
    expect(went.error).toMatchObject({ code: "BAD_MODEL", type: "bad_request" });
    expect([typesOf(went), asked]).toEqual(["llm_error", []]);
  });
});

describe("the request to a model", () => {
  test("is the prompt with the other inputs", async () => {
    const params = await askedBy({ prompt: "Sum up.", system: "Be brief.", text: "long", n: 1 });
    expect(params).toEqual({
      model: "claude-opus-4-6",
      system: "Be brief.",
      stream: false,
      messages: [{ role: "user", content: "Sum up." }],
      inputs: { text: "long", n: 1 },
    });
  });

  test("is a prompt's JSON if the prompt is not a text", async () => {
    const { messages } = await askedBy({ prompt: { a: [1] } });
    expect(messages).toEqual([{ role: "user", content: '{"a":[1]}' }]);
  });

  test("has the messages before the prompt", async () => {
    const messages = [{ role: "user", content: "1" }];
    expect((await askedBy({ messages })).messages).toEqual(messages as LLMParams["messages"]);
    const both = await askedBy({ messages, prompt: "2" });
    expect(both.messages.map(({ content }) => content)).toEqual(["1", "2"]);
  });

  test("without prompt and messages is the inputs as JSON", async () => {
    const params = await askedBy({ system: "Sum up.", text: "long", n: 1 });
    expect(params.messages).toEqual([{ role: "user", content: '{"text":"long","n":1}' }]);
    expect(params.inputs).toEqual({ text: "long", n: 1 });
  });

  test("has the numbers, the thinking option and the tools", async () => {
    const tools = [{ name: "add", description: "Adds.", input_schema: { type: "object" } }];
    const thinking = { type: "enabled", budget_tokens: 2000 };
    const inputs = { max_tokens: 9, temperature: 0, thinking, tools: [...tools, "ReadFile"] };
    expect(await askedBy({ ...inputs, prompt: "x" })).toMatchObject({
      max_tokens: 9,
      temperature: 0,
      thinking,
      tools: [...tools, { name: "ReadFile" }],
    });
  });

  test("has the documents before the system prompt, each under its title", async () => {
    const doc = {
      get: async (ids: readonly (number | string)[]) =>
        ids.map((id) => ({ id, title: `Title ${id}`, text: `text ${id}` })).toReversed(),
    };
    const params = await askedBy({ docs: [2, 1], system: "Go.", prompt: "x" }, {}, {}, { doc });
    expect(params.system).toBe("# Title 2\n\ntext 2\n\n# Title 1\n\ntext 1\n\nGo.");
    expect(params.docs).toEqual([2, 1]);
  });

  const bad: [string, object][] = [
    ["an empty prompt", { prompt: "" }],
    ["a prompt that is null", { prompt: null }],
    ["messages that are not a list", { messages: "hi" }],
    ["an empty list of messages", { messages: [] }],
    ["a message without a role", { messages: [{ content: "hi" }] }],
    ["a message without content", { messages: [{ role: "user" }] }],
    ["tools that are not a list", { prompt: "x", tools: { name: "add" } }],
    ["a tool without a name", { prompt: "x", tools: [{}] }],
    ["max_tokens that is not a number", { prompt: "x", max_tokens: "9" }],
    ["an unknown output", { prompt: "x", output_config: { type: "xml" } }],
    ["an output that is not an object", { prompt: "x", output_config: "json" }],
    ["a json_schema without a schema", { prompt: "x", output_config: { type: "json_schema" } }],
    ["an unknown schema", { prompt: "x", output_config: { schemaRef: "None" } }],
    ["a schema named __proto__", { prompt: "x", output_config: { schemaRef: "__proto__" } }],
    ["two schemas", { prompt: "x", output_config: { schemaRef: "Sum", schema: {} } }],
    ["missing documents", { prompt: "x", docs: [1] }],
    ["a document without an id", { prompt: "x", docs: [{ id: 1 }, null] }],
  ];

  test.each(bad)("is refused with %s", async (_, inputs) => {
    const { llm, asked } = answering();
    const adapters = { llm, doc: { get: async () => [] } };
    const went = await carryOut({ id: "LLM_A" }, adapters, { inputs: { ...inputs } });
    expect(went.error).toMatchObject({ type: "bad_request" });
    expect(asked).toEqual([]);
  });

  test("needs a doc adapter for documents", async () => {
    const { llm } = answering();
    const went = await carryOut({ id: "LLM_A" }, { llm }, { inputs: { docs: [1], prompt: "x" } });
    expect(String(went.error)).toContain('missing adapter "doc"');
  });
});

test("fails with a document that is not text", async () => {
  const doc = { get: async (ids: readonly (string | number)[]) => ids.map(docOf) };
  const docOf = (id: string | number) => ({ id, title: "T", text: { body: "x" } as never });
  const { llm } = answering();
  const went = await carryOut(
    { id: "LLM_A" },
    { llm, doc },
    { inputs: { prompt: "x", docs: [7] } },
  );
  expect(String(went.error)).toContain("LLM_A: the adapter doc returned no text for document 7");
});
