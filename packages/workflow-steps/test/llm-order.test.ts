import { expect, test } from "bun:test";
import { type Adapters, type LLMAdapter, LLMError, type StepDocument } from "../src/index.ts";
import { flow, heard, ran } from "./ran.ts";

const vars = ["$a(STRING)", "$b(OBJECT)", "$e(OBJECT)"];

/** One LLM step that writes two variables and a file, with a handler for its failure. */
const asking = (more: Partial<StepDocument> = {}) =>
  flow(
    [
      {
        id: "LLM_A",
        in: { prompt: "=goal", stream: true },
        out: { $a: "=_result", $b: "=_meta", "/out/a.txt": "=_result" },
        print: "=_result",
        next: "Stop_A",
        ...more,
      },
      ...(more.onError ? [{ id: "Set_E", target: "$e", value: "=_error", next: "Stop_A" }] : []),
      { id: "Stop_A" },
    ],
    { params: ["goal(STRING) = hello"], vars, schemas: { named: schema } },
  );
const schema = { type: "object", required: ["name"], properties: { name: { type: "string" } } };

const file: Adapters["file"] = {
  read: async () => "",
  write: async (_path, data) => ({ size_bytes: data.length }),
  exists: async () => false,
  remove: async () => undefined,
  list: async () => [],
};

const agentic: LLMAdapter = {
  async call(_params, _onToken, { onThinking, onToken, onToolUse, onToolResult }) {
    onThinking("hm");
    onThinking("so");
    onToken("I ");
    onToken("look. ");
    onToolUse({ id: "t1", name: "read", input: { path: "a" } });
    onToolResult({ tool_use_id: "t1", content: "text", is_error: false });
    onToken("Done.");
    return {
      content: "I look. Done.",
      model: "m-1",
      id: "r1",
      finish_reason: "end_turn",
      usage: { input_tokens: 10, output_tokens: 4, thinking_tokens: 2 },
    };
  },
};

test("what a model thought that does not stream is published in one piece, before it is done", async () => {
  const llm = { call: async () => ({ content: "so", thinking: "hm" }) };
  const { of, payloads } = await ran(asking({ in: { prompt: "=goal" }, out: "$a" }), {
    adapters: { llm },
  });
  expect(payloads("llm_thinking")).toEqual([{ delta: "hm" }]);
  expect(of("LLM_A")).toStartWith("step_start llm_thinking llm_done");
  const streaming: LLMAdapter = {
    async call(_params, _onToken, { onThinking }) {
      onThinking("h");
      onThinking("m");
      return { content: "so", thinking: "hm" };
    },
  };
  const streamed = await ran(asking({ out: "$a" }), { adapters: { llm: streaming } });
  expect(streamed.payloads("llm_thinking")).toEqual([{ delta: "h" }, { delta: "m" }]);
});

test("an LLM step publishes all that happens in exactly this order", async () => {
  const { events, variables } = await ran(asking(), { adapters: { llm: agentic, file } });
  const own = events.filter(({ stepID }) => stepID === "LLM_A");
  expect(own.map(({ type, payload }) => [type, payload])).toEqual([
    ["step_start", { type: "LLM", meta: null, resolvedInputs: { prompt: "hello", stream: true } }],
    ["file_start", { path: "out/a.txt" }],
    ["llm_thinking", { delta: "hm" }],
    ["llm_thinking", { delta: "so" }],
    ["llm_token", { delta: "I " }],
    ["llm_token", { delta: "look. " }],
    ["llm_tool_use", { tool_use_id: "t1", name: "read", input: { path: "a" } }],
    ["llm_tool_result", { tool_use_id: "t1", content: "text", is_error: false }],
    ["llm_token", { delta: "Done." }],
    [
      "llm_done",
      {
        latency_ms: expect.any(Number),
        finish_reason: "end_turn",
        model: "m-1",
        usage: { input_tokens: 10, output_tokens: 4, thinking_tokens: 2 },
        thinking_tokens: 2,
        has_tool_use: true,
      },
    ],
    ["var_changed", { name: "$a", oldValue: null, newValue: "I look. Done." }],
    ["var_changed", { name: "$b", oldValue: null, newValue: variables.$b }],
    ["file_done", { path: "out/a.txt", size_bytes: 13 }],
    ["step_print", { value: "I look. Done." }],
    [
      "step_done",
      {
        outputs: {
          $a: "I look. Done.",
          $b: variables.$b,
          "/out/a.txt": { _file: true, path: "/out/a.txt" },
        },
      },
    ],
  ]);
  expect(variables.$b).toMatchObject({
    model: "m-1",
    request_id: "r1",
    finish_reason: "end_turn",
    usage: { input_tokens: 10, output_tokens: 4 },
    latency_ms: expect.any(Number),
  });
});

test("a failure is step_start, llm_error and step_error, and leads to the handler", async () => {
  const llm: LLMAdapter = {
    call: () => Promise.reject(new LLMError("rate_limit", "too many", { code: "429" })),
  };
  const { of, payloads, variables, status } = await ran(asking({ out: "$a", onError: "Set_E" }), {
    adapters: { llm },
  });
  expect(of("LLM_A")).toBe("step_start llm_error step_error");
  expect(payloads("llm_error")).toEqual([
    {
      error: "too many",
      type: "rate_limit",
      code: "429",
      retryable: true,
      latency_ms: expect.any(Number),
    },
  ]);
  expect([status, variables.$e]).toEqual([
    "stopped",
    { type: "rate_limit", message: "too many", code: "429", retryable: true, stepID: "LLM_A" },
  ]);
});

test("without a handler the failure fails the run, and no adapter is asked twice", async () => {
  let calls = 0;
  const llm: LLMAdapter = {
    call: () => {
      calls += 1;
      return Promise.reject(new Error("down"));
    },
  };
  const { error, of } = await ran(asking({ out: "$a" }), { adapters: { llm } });
  expect(error).toMatchObject({ stepID: "LLM_A" });
  expect([of("LLM_A"), calls]).toEqual(["step_start llm_error step_error", 1]);
});

test("an adapter of the old form, with params and onToken alone, works", async () => {
  const llm = {
    call: async (
      params: { model: string; messages: unknown },
      onToken?: (text: string) => void,
    ) => {
      onToken?.("to");
      onToken?.("ken");
      return {
        content: JSON.stringify(params.messages),
        usage: { input_tokens: 1, output_tokens: 1 },
      };
    },
  };
  const { of, variables } = await ran(asking({ out: "$a", print: undefined }), {
    adapters: { llm },
  });
  expect(of("LLM_A")).toBe("step_start llm_token llm_token llm_done var_changed step_done");
  expect(variables.$a).toBe('[{"role":"user","content":"hello"}]');
});

test("tokens are payloads only when the step streams", async () => {
  const { of } = await ran(asking({ in: { prompt: "x" }, out: "$a", print: undefined }), {
    adapters: { llm: agentic },
  });
  expect(of("LLM_A")).not.toContain("llm_token");
  expect(of("LLM_A")).toContain("llm_done");
});

test("JSON is parsed from inside of one fence, and judged by its schema", async () => {
  const answering = (content: string): LLMAdapter => ({ call: async () => ({ content }) });
  const step = (output_config: object) =>
    asking({ in: { prompt: "x", output_config }, out: "$b", print: undefined });
  const named = { type: "json_schema", schemaRef: "named" };
  const good = await ran(step(named), {
    adapters: { llm: answering('```json\n{"name": "n"}\n```') },
  });
  expect(good.variables.$b).toEqual({ name: "n" });
  const nested = await ran(step({ format: { type: "json_schema", schema } }), {
    adapters: { llm: answering('{"name": "n"}') },
  });
  expect(nested.variables.$b).toEqual({ name: "n" });
  const wrong = await ran(step(named), { adapters: { llm: answering('{"name": 1}') } });
  expect(wrong.payloads("llm_error")).toMatchObject([
    { type: "schema_validation_error", retryable: false },
  ]);
  const broken = await ran(step({ type: "json_object" }), {
    adapters: { llm: answering("not JSON") },
  });
  expect(broken.payloads("llm_error")).toMatchObject([
    { type: "json_parse_error", retryable: true },
  ]);
});

test.each([
  [{}, {}, "claude-opus-4-6"],
  [{}, { LLM_MODEL: "m-env" }, "m-env"],
  [{ provider: "openai" }, { OPENAI_MODEL: "gpt", LLM_MODEL: "m-env" }, "gpt"],
  [{ model: "m-step" }, { LLM_MODEL: "m-env" }, "m-step"],
])("the model of %j with the environment %j is %s", async (fields, env, model) => {
  const asked: unknown[] = [];
  const llm: LLMAdapter = {
    call: async (params) => {
      asked.push(params.model);
      return { content: "" };
    },
  };
  await ran(asking({ ...fields, in: { prompt: "x" }, out: "$a" }), { adapters: { llm }, env });
  expect(asked).toEqual([model]);
});

test("documents are fetched and joined to the system prompt", async () => {
  const asked: unknown[] = [];
  const adapters: Adapters = {
    llm: {
      call: async (params) => {
        asked.push(params.system);
        return { content: "" };
      },
    },
    doc: {
      get: async (ids) => ids.map((id) => ({ id, title: `T${id}`, text: `text ${id}` })),
    },
  };
  const fields = { in: { prompt: "x", docs: [7], system: "Be brief." }, out: "$a" };
  await ran(asking(fields), { adapters });
  expect(asked).toEqual([expect.stringMatching(/text 7[^]*Be brief\./)]);
});

test("what an adapter is given is its own: what it does to it changes no variable", async () => {
  const document = flow(
    [
      { id: "Set_B", target: "$b", value: { list: [1] }, next: "LLM_A" },
      { id: "LLM_A", in: { data: "=$b" }, out: { $a: "=_result" }, next: "RETURN" },
    ],
    { vars },
  );
  const llm: LLMAdapter = {
    call: async ({ inputs }) => {
      const { data } = inputs as { data: { list: number[] } };
      data.list.push(2);
      return { content: "ok" };
    },
  };
  const { variables } = await ran(document, { adapters: { llm } });
  expect(variables).toMatchObject({ $b: { list: [1] }, $a: "ok" });
});

test("what an adapter gives is copied: what it does to it later changes no variable", async () => {
  const answer = { list: [1] };
  const llm: LLMAdapter = { call: async () => ({ content: answer }) };
  const { context } = await ran(asking({ in: { prompt: "x" }, out: "$b", print: undefined }), {
    adapters: { llm },
  });
  answer.list.push(2);
  expect(context.snapshot().variables.$b).toEqual({ list: [1] });
});

test("an adapter that gives no result fails its step", async () => {
  for (const given of [undefined, null, "text"]) {
    const llm = { call: async () => given } as unknown as LLMAdapter;
    const { of, events } = await ran(asking({ out: "$a" }), { adapters: { llm } });
    expect(of("LLM_A")).toBe("step_start llm_error step_error");
    expect(heard(events).payloads("llm_error")).toMatchObject([{ type: "internal_error" }]);
  }
});
