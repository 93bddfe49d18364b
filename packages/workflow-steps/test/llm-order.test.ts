import { expect, test } from "bun:test";
import { type Adapters, type LLMAdapter, type StepDocument } from "../src/entry/index.ts";
import { flow, ran } from "./ran.ts";

const vars = ["$a(STRING)", "$b(OBJECT)", "$e(OBJECT)"];

/** An LLM step that writes two variables and a file, and a handler for its failure. */
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

test("the thinking of a model that does not stream is published as one event before llm_done", async () => {
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

test("an LLM step publishes its events in exactly this order", async () => {
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

test("without onError a failure fails the run, and the adapter is called once", async () => {
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

test("an adapter's result is copied: later changes by the adapter affect no variable", async () => {
  const answer = { list: [1] };
  const llm: LLMAdapter = { call: async () => ({ content: answer }) };
  const { context } = await ran(asking({ in: { prompt: "x" }, out: "$b", print: undefined }), {
    adapters: { llm },
  });
  answer.list.push(2);
  expect(context.snapshot().variables.$b).toEqual({ list: [1] });
});
