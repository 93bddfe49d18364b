import { afterEach, describe, expect, test } from "bun:test";
import { channel } from "node:diagnostics_channel";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eventsChannel, type Step, type WorkflowEvent } from "@uncaged/workflow";
import { ledgerOfSteps } from "@uncaged/workflow-agents/ledger";
import { models as served } from "../../workflow-agents/test/models.ts";
import type { Reply } from "../../workflow-agents/test/wire.ts";
import type { ModelAdapterOptions } from "../src/adapters/model.ts";
import { anthropicModels, modelAdapter, openaiModels } from "../src/entry/adapters.ts";
import { stepTools } from "../src/adapters/tool.ts";
import { carryOut, payloadOf, typesOf } from "./calling.ts";

const ends: (() => unknown)[] = [];
afterEach(async () => {
  await Promise.all(ends.splice(0).map((end) => end()));
});

const providers = { anthropic: anthropicModels, openai: openaiModels };
const model = "claude-opus-5-5";
const events = channel(eventsChannel);

describe.each(served)("the model adapter over $name", (one) => {
  const name = one.name as keyof typeof providers;

  /** Returns an adapter whose server gives these replies, and a function that runs a step with it. */
  async function serving(
    replies: Reply[],
    options: Record<string, unknown> = {},
    more: Partial<ModelAdapterOptions> = {},
  ) {
    const server = await one.serve(replies);
    ends.push(server.stop);
    const env = one.env(server);
    const llm = modelAdapter({
      models: [providers[name]()],
      options: { env, threadId: "01T", ...options },
      ...more,
    });
    const ask = (inputs: Record<string, unknown> = {}, step = {}) =>
      carryOut({ id: "LLM_A", model, ...step }, { llm }, { inputs: { prompt: "Sum.", ...inputs } });
    return { server, ask, llm };
  }

  test("streams an answer, and reports its cost like the ledger", async () => {
    const { server, ask } = await serving([{ thinking: "hm", text: "hello you" }]);
    const went = await ask({ system: "Be brief.", stream: true });
    expect(went.called?.locals._result).toBe("hello you");
    const types = new Set(typesOf(went).split(" "));
    expect([...types]).toEqual(["llm_thinking", "llm_token", "llm_done"]);
    const { counted } = server;
    const usage = {
      input_tokens: counted.input,
      output_tokens: counted.output,
      thinking_tokens: counted.thinking,
      cache_read_tokens: counted.cacheRead,
      cache_write_tokens: counted.cacheWrite,
    };
    expect(went.called).toMatchObject({ model, usage });
    expect(payloadOf(went, "llm_done")).toMatchObject({
      model,
      usage,
      thinking_tokens: counted.thinking,
      has_tool_use: false,
    });
    const { usage: payloads, cost } = went.called ?? {};
    const { total } = ledgerOfSteps([{ role: "LLM_A", meta: { model, usage: payloads, cost } }]);
    expect(total).toMatchObject({ usage, cost: cost ?? 0, unpriced: 0 });
    expect(cost).toBeGreaterThan(0);
    expect(payloads?.total_tokens).toBe(total.tokens);
    expect(went.called?.locals._meta).toMatchObject({ provider: name, model });
  });

  test("returns the whole thinking without tokens if the step does not stream, and sends the step's numbers", async () => {
    const { server, ask } = await serving([{ thinking: "hm", text: "hello" }]);
    const went = await ask({ max_tokens: 77, temperature: 0.5 });
    expect(typesOf(went)).toBe("llm_thinking llm_done");
    expect(server.came[0]?.body).toMatchObject({ max_tokens: 77, temperature: 0.5 });
  });

  test("returns an answer of the required form, and fails with a typed error for any other answer", async () => {
    const schema = {
      type: "object",
      properties: { n: { type: "number" } },
      required: ["n"],
      additionalProperties: false,
    };
    const { ask } = await serving([{ text: '{"n":1}' }, { text: "one" }, { text: '{"n":"1"}' }]);
    const output_config = { type: "json_schema", schema };
    expect((await ask({ output_config })).called?.locals._result).toEqual({ n: 1 });
    expect((await ask({ output_config })).error).toMatchObject({ type: "json_parse_error" });
    const unfit = await ask({ output_config });
    expect(unfit.error).toMatchObject({
      type: "schema_validation_error",
      spent: { model, cost: expect.any(Number) },
    });
  });

  test("runs the tools that the step names, and reports only the model's events for them", async () => {
    const cwd = mkdtempSync(join(tmpdir(), "uncaged-steps-"));
    writeFileSync(join(cwd, "a.txt"), "42");
    const published: WorkflowEvent[] = [];
    const listen = (event: unknown) => void published.push(event as WorkflowEvent);
    events.subscribe(listen);
    ends.push(() => {
      events.unsubscribe(listen);
      rmSync(cwd, { recursive: true });
    });
    const reads = [
      { name: "readFile", input: { path: "a.txt" } },
      { name: "writeFile", input: { path: "a.txt", content: "hacked" } },
    ];
    const { ask, server } = await serving(
      [{ tools: reads }, { text: "It is 42." }],
      { cwd },
      { tools: stepTools() },
    );
    const went = await ask({ tools: ["ReadFile"], stream: true });
    expect(went.called?.locals._result).toBe("It is 42.");
    const payloads = went.events.filter(({ type }) => type !== "llm_token");
    expect(payloads.map(({ type }) => type).join(" ")).toBe(
      "llm_tool_use llm_tool_use llm_tool_result llm_tool_result llm_done",
    );
    const results = payloads.filter(({ type }) => type === "llm_tool_result");
    const contents = results.map(({ payload }) => [payload.content, payload.is_error]);
    expect(contents).toContainEqual(["42", false]);
    expect(contents).toContainEqual(['unknown tool "writeFile"\ntools: readFile', true]);
    expect(payloadOf(went, "llm_done").has_tool_use).toBe(true);
    expect(went.called?.usage?.output_tokens).toBe(server.counted.output);
    expect(published.filter(({ type }) => type.startsWith("tool_"))).toEqual([]);
  });

  test("returns the calls of the step's own tools", async () => {
    const { ask } = await serving([{ tools: [{ name: "add", input: { a: 1 } }] }]);
    const tools = [{ name: "add", description: "Adds.", input_schema: { type: "object" } }];
    const went = await ask({ tools, output_config: { type: "json_object" } });
    expect(went.called?.locals).toMatchObject({
      _result: "",
      _meta: { tool_calls: [{ name: "add", input: { a: 1 } }] },
    });
  });

  const badTools: [string, unknown[]][] = [
    ["an unknown tool", ["Compile"]],
    ["tools of both kinds", ["ReadFile", { name: "add", input_schema: {} }]],
  ];

  test.each(badTools)("refuses %s before it calls the model", async (_, tools) => {
    const { ask, server } = await serving([{ text: "x" }], { cwd: "/" }, { tools: stepTools() });
    expect((await ask({ tools })).error).toMatchObject({ code: "BAD_TOOLS" });
    expect(server.came).toEqual([]);
  });

  test("needs tools and a directory for a step with tools", async () => {
    const none = await serving([{ text: "x" }], { cwd: "/" });
    expect((await none.ask({ tools: ["ReadFile"] })).error).toMatchObject({ code: "BAD_TOOLS" });
    const nowhere = await serving([{ text: "x" }], {}, { tools: stepTools() });
    expect((await nowhere.ask({ tools: ["ReadFile"] })).error).toMatchObject({ code: "NO_CWD" });
  });

  test("reports a provider's refusal with the documented error type", async () => {
    const { ask } = await serving([
      { fault: { kind: "status", status: 400, type: "", message: "bad word" } },
    ]);
    const went = await ask();
    expect(typesOf(went)).toBe("llm_error");
    expect(payloadOf(went, "llm_error")).toMatchObject({
      type: "bad_request",
      code: "LLM_BAD_REQUEST",
      retryable: false,
    });
    const wrong = await serving([{ text: "x" }]);
    expect((await wrong.ask({}, { model: "no-such-model" })).error).toMatchObject({
      type: "bad_request",
    });
  });

  test("ends with the run, and closes the connection", async () => {
    const abort = new AbortController();
    const { server, llm } = await serving([{ fault: { kind: "hang" } }]);
    const around = { inputs: { prompt: "x" }, signal: abort.signal };
    const asked = carryOut({ id: "LLM_A", model }, { llm }, around);
    while (server.came.length === 0) await new Promise((later) => setTimeout(later, 1));
    abort.abort(new Error("stopped"));
    const went = await asked;
    expect(String(went.error)).toContain("stopped");
    expect(went.events).toEqual([]);
    await server.came[0]?.closed;
  });

  describe("the thread's limits:", () => {
    test("a call that could exceed maxTokens is not made", async () => {
      const { ask, server } = await serving([{ text: "x" }], { maxTokens: 10 });
      const went = await ask();
      expect(went.error).toMatchObject({ code: "BUDGET_EXCEEDED" });
      expect(typesOf(went)).toBe("llm_error");
      expect(server.came).toEqual([]);
    });

    test("the spending of earlier calls counts, including calls with unusable answers", async () => {
      const { ask } = await serving([{ text: "x".repeat(18_000) }], { maxTokens: 10_000 });
      const output_config = { type: "json_object" };
      expect((await ask({ output_config, max_tokens: 5000 })).error).toMatchObject({
        type: "json_parse_error",
      });
      expect((await ask({ max_tokens: 5000 })).error).toBeNull();
      expect((await ask({ max_tokens: 8000 })).error).toMatchObject({ code: "BUDGET_EXCEEDED" });
    });

    test("the thread's spending before a resume counts, and spending copied by a fork does not", async () => {
      const usage = { input_tokens: 9000, output_tokens: 0 };
      const steps: Step[] = [
        { role: "LLM_0", content: "", meta: { model, usage, cost: 0.1 }, timestamp: 0 },
      ];
      const resumed = await serving([{ text: "x" }], { maxTokens: 10_000 }, { steps });
      const inputs = { max_tokens: 2000 };
      expect((await resumed.ask(inputs)).error).toMatchObject({ code: "BUDGET_EXCEEDED" });
      const forkFrom = { threadId: "01S", steps: 1 };
      const forked = await serving([{ text: "x" }], { maxTokens: 10_000, forkFrom }, { steps });
      expect((await forked.ask(inputs)).error).toBeNull();
    });
  });
});

describe("the provider", () => {
  async function both() {
    const [first, second] = await Promise.all(served.map((one) => one.serve([{ text: one.name }])));
    if (!first || !second) throw new Error("a provider is missing");
    ends.push(first.stop, second.stop);
    const env = Object.assign(
      {},
      ...served.map((one, i) => one.env(i === 0 ? first : second)),
    ) as Record<string, string>;
    const local = openaiModels({ name: "local", baseUrl: second.url, apiKey: second.key });
    const models = [anthropicModels(), openaiModels(), local];
    const llm = modelAdapter({ models, options: { env } });
    return async (step: object) => {
      const went = await carryOut({ id: "LLM_A", ...step }, { llm }, { inputs: { prompt: "x" } });
      const meta = went.called?.locals._meta as { provider?: string } | undefined;
      return [went.called?.locals._result ?? went.error, meta?.provider];
    };
  }

  test("is the step's provider, otherwise the model's provider", async () => {
    const asked = await both();
    expect(await asked({ model: "claude-x" })).toEqual(["anthropic", "anthropic"]);
    expect(await asked({ model: "gpt-x" })).toEqual(["openai", "openai"]);
    expect(await asked({ model: "openai/claude-x" })).toEqual(["openai", "openai"]);
    expect(await asked({ model: "qwen/qwen3", provider: "local" })).toEqual(["openai", "local"]);
    expect(await asked({})).toEqual(["anthropic", "anthropic"]);
  });

  test("an unknown provider is reported with the known providers", async () => {
    const [error] = await (await both())({ model: "gemini/pro" });
    expect(error).toMatchObject({ code: "PROVIDER_UNKNOWN" });
    expect(String(error)).toContain("providers: anthropic, openai, local");
  });
});
