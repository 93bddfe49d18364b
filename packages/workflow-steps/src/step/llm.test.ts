import { describe, expect, test } from "bun:test";
import type { LLMAdapter, LLMParams, LLMResult } from "../adapter/adapter.ts";
import { LLMError } from "../adapter/error.ts";
import { answering, carryOut, payloadOf, type Published, typesOf } from "../../test/calling.ts";

const usage = { input_tokens: 3, output_tokens: 2 };

describe("the events of an LLM step", () => {
  const talkative: LLMAdapter = {
    async call(_, __, { onThinking, onToken, onToolUse, onToolResult }) {
      onThinking("hm");
      onToken("let ");
      onToken("me");
      onToolUse({ id: "t1", name: "add", input: { a: 1 } });
      onToolResult({ tool_use_id: "t1", content: "3" });
      onToken("3");
      return {
        content: "3",
        model: "real-model",
        id: "msg_1",
        finish_reason: "end_turn",
        usage: { ...usage, thinking_tokens: 1 },
      };
    },
  };

  test("come in the documented order, with the documented payloads", async () => {
    const inputs = { prompt: "add", model: "m" };
    const went = await carryOut({ id: "LLM_A", stream: true }, { llm: talkative }, { inputs });
    expect(went.events).toEqual([
      { type: "llm_thinking", payload: { delta: "hm" } },
      { type: "llm_token", payload: { delta: "let " } },
      { type: "llm_token", payload: { delta: "me" } },
      { type: "llm_tool_use", payload: { tool_use_id: "t1", name: "add", input: { a: 1 } } },
      { type: "llm_tool_result", payload: { tool_use_id: "t1", content: "3", is_error: false } },
      { type: "llm_token", payload: { delta: "3" } },
      {
        type: "llm_done",
        payload: {
          latency_ms: expect.any(Number),
          finish_reason: "end_turn",
          model: "real-model",
          usage: { ...usage, thinking_tokens: 1 },
          thinking_tokens: 1,
          has_tool_use: true,
        },
      },
    ]);
    expect(went.called).toEqual({
      locals: {
        _result: "3",
        _meta: {
          provider: null,
          model: "real-model",
          usage: { ...usage, thinking_tokens: 1 },
          latency_ms: expect.any(Number),
          request_id: "msg_1",
          finish_reason: "end_turn",
        },
      },
      model: "real-model",
      usage: { ...usage, thinking_tokens: 1 },
    });
  });

  test("include no tokens when the step does not stream", async () => {
    const went = await carryOut({ id: "LLM_A" }, { llm: talkative });
    expect(typesOf(went)).toBe("llm_thinking llm_tool_use llm_tool_result llm_done");
  });

  test("also come from an adapter that only takes onToken", async () => {
    const llm = {
      async call(_: LLMParams, onToken: (delta: string) => void): Promise<LLMResult> {
        onToken("hel");
        onToken("lo");
        return { content: "hello", stop_reason: "stop" };
      },
    };
    const went = await carryOut({ id: "LLM_A" }, { llm }, { inputs: { stream: true } });
    expect(typesOf(went)).toBe("llm_token llm_token llm_done");
    expect(payloadOf(went, "llm_done")).toMatchObject({
      finish_reason: "stop",
      model: "claude-opus-4-6",
      usage: null,
      thinking_tokens: 0,
      has_tool_use: false,
    });
  });

  test("include each token once, from an adapter that calls both callbacks", async () => {
    const llm: LLMAdapter = {
      async call(_, onToken, callbacks) {
        for (const delta of ["a", "b"]) {
          onToken(delta);
          callbacks.onToken(delta);
        }
        return { content: "ab" };
      },
    };
    const went = await carryOut({ id: "LLM_A" }, { llm }, { inputs: { stream: true } });
    expect(typesOf(went)).toBe("llm_token llm_token llm_done");
  });

  test("are published even if an adapter also reports malformed events", async () => {
    const llm = {
      async call(_: unknown, __: unknown, callbacks: Record<string, (given?: unknown) => void>) {
        for (const report of Object.values(callbacks)) for (const odd of [null, 7]) report(odd);
        callbacks.onToolUse?.({ id: "t1", name: "add" });
        callbacks.onToolResult?.({ tool_use_id: "t1", is_error: "no" });
        const counts = { usage: { thinking_tokens: "many" }, model: 5, finish_reason: 7 };
        return { content: "paid", thinking: {}, tool_calls: "none", ...counts };
      },
    } as unknown as LLMAdapter;
    const went = await carryOut({ id: "LLM_A" }, { llm }, { inputs: { stream: true } });
    expect(went.error).toBeNull();
    expect(went.called?.locals._result).toBe("paid");
    expect(went.events).toEqual([
      { type: "llm_tool_use", payload: { tool_use_id: "t1", name: "add", input: null } },
      { type: "llm_tool_result", payload: { tool_use_id: "t1", content: null, is_error: false } },
      {
        type: "llm_done",
        payload: {
          latency_ms: expect.any(Number),
          finish_reason: null,
          model: "claude-opus-4-6",
          usage: { thinking_tokens: "many" },
          thinking_tokens: 0,
          has_tool_use: true,
        },
      },
    ]);
  });

  test("end with llm_error when the adapter fails", async () => {
    const failing = new LLMError("rate_limit", "slow down", { code: "SLOW" });
    const llm: LLMAdapter = {
      async call(_, onToken) {
        onToken("he");
        throw failing;
      },
    };
    const went = await carryOut({ id: "LLM_A" }, { llm }, { inputs: { stream: true } });
    expect(went.error).toBe(failing);
    expect(went.events).toEqual([
      { type: "llm_token", payload: { delta: "he" } },
      {
        type: "llm_error",
        payload: {
          error: "slow down",
          type: "rate_limit",
          code: "SLOW",
          retryable: true,
          latency_ms: expect.any(Number),
        },
      },
    ]);
  });

  test("report an adapter that rejects with a value other than an error, or throws synchronously", async () => {
    const throws = () => {
      throw new Error("boom");
    };
    for (const call of [() => Promise.reject("boom"), throws]) {
      const went = await carryOut({ id: "LLM_A" }, { llm: { call } });
      expect(String(went.error)).toContain("boom");
      expect(payloadOf(went, "llm_error")).toMatchObject({ error: "boom", type: "unknown_error" });
    }
  });

  test("report an adapter that returns no result", async () => {
    const llm = { call: async () => undefined } as unknown as LLMAdapter;
    const went = await carryOut({ id: "LLM_A" }, { llm });
    expect(payloadOf(went, "llm_error")).toMatchObject({ type: "internal_error" });
  });

  test("name a missing adapter", async () => {
    const went = await carryOut({ id: "LLM_A" }, {});
    expect(typesOf(went)).toBe("llm_error");
    expect(went.error).toMatchObject({ code: "NO_ADAPTER" });
    expect(String(went.error)).toContain('LLM_A: missing adapter "llm"');
  });

  test("contain only the beginning of a long value, but the adapter receives the whole value", async () => {
    const long = "x".repeat(20_000);
    const results: unknown[] = [];
    const llm: LLMAdapter = {
      async call(params, _, { onToolUse, onToolResult }) {
        results.push(params.messages[0]?.content);
        onToolUse({ id: "t1", name: "write", input: { text: long } });
        onToolResult({ tool_use_id: "t1", content: long, is_error: true });
        return { content: long };
      },
    };
    const went = await carryOut({ id: "LLM_A" }, { llm }, { inputs: { prompt: long } });
    expect(results).toEqual([long]);
    expect(payloadOf(went, "llm_tool_use").input).toMatchObject({ _truncated: true });
    expect(payloadOf(went, "llm_tool_result").content).toMatchObject({ _truncated: true });
    expect(went.called?.locals._result).toBe(long);
  });
});

describe("an aborted run", () => {
  test("ends a call that does not answer, and drops its late events", async () => {
    const abort = new AbortController();
    const reason = new Error("stopped");
    let late: (delta: string) => void = () => undefined;
    const llm: LLMAdapter = {
      call: (_, onToken) => {
        late = onToken;
        abort.abort(reason);
        onToken("too late");
        return new Promise(() => undefined);
      },
    };
    const events: Published[] = [];
    const around = { inputs: { stream: true }, signal: abort.signal, events };
    const went = await carryOut({ id: "LLM_A" }, { llm }, around);
    late("much too late");
    expect(went.error).toBe(reason);
    expect(events).toEqual([]);
  });

  test("makes no call", async () => {
    const { llm, asked } = answering();
    const signal = AbortSignal.abort(new Error("stopped"));
    const went = await carryOut({ id: "LLM_A" }, { llm }, { signal });
    expect([asked, went.events]).toEqual([[], []]);
    expect(String(went.error)).toContain("stopped");
  });

  test("passes the signal, the run and the step to the adapter", async () => {
    const signals: object[] = [];
    const llm: LLMAdapter = {
      async call(_, __, ___, around) {
        signals.push(around);
        return { content: "" };
      },
    };
    const { signal } = new AbortController();
    await carryOut({ id: "LLM_A" }, { llm }, { signal });
    expect(signals).toEqual([{ signal, runID: "wf_1", stepID: "LLM_A" }]);
  });
});

describe("the form of the answer", () => {
  const schema = {
    $schema: "http://json-schema.org/draft-07/schema#",
    type: "object",
    properties: { n: { type: "integer" }, tags: { type: "array", items: { type: "string" } } },
    required: ["n"],
    additionalProperties: false,
  };
  const answer = async (content: unknown, output_config: unknown, more = {}) => {
    const { llm, asked } = answering({ content, usage, cost: 0.5, ...more });
    const registry = { schemas: { Sum: schema } };
    const inputs = { prompt: "x", output_config };
    const went = await carryOut({ id: "LLM_A" }, { llm }, { inputs, registry });
    return { went, result: went.called?.locals._result, asked: asked[0]?.output_config };
  };

  test("is unchanged text if no form is required", async () => {
    expect((await answer('{"n":1}', { type: "text" })).result).toBe('{"n":1}');
    expect((await answer('{"n":1}', undefined)).result).toBe('{"n":1}');
  });

  test("is parsed JSON, with or without a code fence", async () => {
    const json = { type: "json_object" };
    for (const text of ['{"n":1}', '```json\n{"n":1}\n```', ' ```\n{"n":1}``` \n']) {
      expect((await answer(text, json)).result).toEqual({ n: 1 });
    }
    expect((await answer({ n: 1 }, json)).result).toEqual({ n: 1 });
    expect((await answer('{"t":"```js\\n1\\n```"}', json)).result).toEqual({ t: "```js\n1\n```" });
  });

  test("is passed to the adapter flat, with the named schema", async () => {
    const named = { type: "json_schema", schema, schemaRef: "Sum" };
    const flat = await answer('{"n":1}', { type: "json_schema", schemaRef: "Sum" });
    expect(flat.asked).toEqual(named as typeof flat.asked);
    const nested = await answer('{"n":1}', { format: { type: "json_schema", schemaRef: "Sum" } });
    expect(nested.asked).toEqual(named as typeof flat.asked);
    expect(nested.result).toEqual({ n: 1 });
  });

  test.each(["", "no", '{"n":', '```json\n{"n":1}\n``` and more', "7", "null"])(
    "is not a JSON object: %p",
    async (text) => {
      const { went } = await answer(text, { type: "json_object" });
      expect(went.error).toMatchObject({ type: "json_parse_error", retryable: true });
      expect(typesOf(went)).toBe("llm_error");
    },
  );

  test("is checked against the schema, and every violation is reported", async () => {
    const { went } = await answer('{"n":"1","tags":[1],"x":0}', { schema });
    expect(went.error).toMatchObject({ type: "schema_validation_error", retryable: false });
    const { message } = went.error as Error;
    for (const part of [
      "/n: must be integer",
      "/tags/0: must be string",
      "/x: must not be present",
    ]) {
      expect(message).toContain(part);
    }
  });

  test.each([
    ["of draft 06", { $schema: "http://json-schema.org/draft-06/schema#", const: 1 }, true],
    [
      "of draft 2019-09",
      { $schema: "https://json-schema.org/draft/2019-09/schema", dependentRequired: { a: ["b"] } },
      false,
    ],
    ["of draft 2020-12", { properties: { a: { prefixItems: [{ type: "string" }] } } }, false],
    [
      "with a reference to a part of itself",
      { $ref: "#/$defs/a", $defs: { a: { required: ["b"] } } },
      false,
    ],
    [
      "with $async, which would make the validator asynchronous",
      { $async: true, required: ["b"] },
      false,
    ],
    ["with a format, which is ignored", { properties: { a: { items: { format: "date" } } } }, true],
  ])("is checked against a schema %s", async (_, of, isAccepted) => {
    const given = isAccepted && "const" in of ? "1" : '{"a":[2]}';
    const { went } = await answer(given, { schema: of });
    if (isAccepted) expect(went.error).toBeNull();
    else expect(went.error).toMatchObject({ type: "schema_validation_error" });
  });

  test("keeps the cost of an unusable answer on the error", async () => {
    const { went } = await answer("no", { type: "json_object" });
    expect(went.error).toMatchObject({ spent: { model: "claude-opus-4-6", usage, cost: 0.5 } });
  });

  test("does not apply to an answer that calls tools", async () => {
    const tool_use = [{ id: "t1", name: "add", input: {} }];
    const { went } = await answer("", { type: "json_object" }, { tool_use });
    expect(went.called?.locals).toMatchObject({ _result: "", _meta: { tool_calls: tool_use } });
    expect(payloadOf(went, "llm_done").has_tool_use).toBe(true);
  });

  test("leaves the workflow's schema unchanged, and an invalid schema is an error", async () => {
    const frozen = JSON.stringify(schema);
    await answer('{"n":1}', { schema });
    expect(JSON.stringify(schema)).toBe(frozen);
    const { went } = await answer("{}", { schema: { $ref: "#/$defs/none" } });
    expect(went.error).toMatchObject({ type: "bad_request", code: "BAD_SCHEMA" });
  });
});
