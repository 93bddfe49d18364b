import { afterEach, describe, expect, test } from "bun:test";
import { role } from "../src/role/role.ts";
import { tool } from "../src/tools/tools.ts";
import { toolRegistry } from "../src/tools/registry.ts";
import { z } from "zod";
import { allModels, type Model, threadAt } from "./models.ts";
import { failureOf, observed } from "./published.ts";
import { eventsIn, key, recordedOf } from "./stream-property.ts";
import type { Reply } from "./wire.ts";

/* Tests answers of servers that deviate from a protocol. */
let server: ReturnType<typeof Bun.serve> | null = null;
afterEach(() => server?.stop(true));

type Sent = { json?: unknown; sse?: unknown[]; status?: number; named?: boolean };

/** Starts a server that sends the answers in order. `bodies` has the request bodies as text. */
function serving(...answers: Sent[]): { url: string; key: string; bodies: string[] } {
  const bodies: string[] = [];
  server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request) {
      bodies.push(await request.text());
      const { json, sse, status = 200 } = answers[bodies.length - 1] ?? answers.at(-1) ?? {};
      if (!sse) return Response.json(json, { status });
      const text = sse.map(
        (data) => `data: ${typeof data === "string" ? data : JSON.stringify(data)}\n\n`,
      );
      return new Response(text.join(""), { headers: { "content-type": "text/event-stream" } });
    },
  });
  return { url: `http://127.0.0.1:${server.port}`, key, bodies };
}

const by = (name: string) => allModels.find((one) => one.name === name) as Model;
const chat = by("openai");
const message = (fields: object, finish_reason: string | null = null) => ({
  choices: [{ index: 0, delta: fields, finish_reason }],
});
const end = message({}, "stop");
const call = (index: unknown, id: string | undefined, args: unknown) =>
  message({ tool_calls: [{ index, id, function: { name: "look", arguments: args } }] });

const looks = (inputs: unknown[], input: z.ZodObject = z.looseObject({})) =>
  toolRegistry([
    tool({ name: "look", description: "", input, execute: (given) => void inputs.push(given) }),
  ]);

async function played(model: Model, answers: Sent[], options: object = {}) {
  const inputs: unknown[] = [];
  const at = serving(...answers);
  const agent = model.agent({ maxRetries: 0, tools: looks(inputs), ...options });
  const run = await observed(() => agent(threadAt(model, at), "You look"));
  return { ...run, inputs, bodies: at.bodies, code: (run.error as { code?: string } | null)?.code };
}

/** Complete answers as JSON documents, without a stream. */
const documents: Record<string, unknown> = {
  openai: { ...message({}), choices: [{ message: { content: "hi" }, finish_reason: "stop" }] },
  anthropic: { type: "message", content: [{ type: "text", text: "hi" }], stop_reason: "end_turn" },
  responses: {
    ...{ object: "response", status: "completed" },
    output: [{ type: "message", content: [{ type: "output_text", text: "hi" }] }],
  },
};

describe.each(allModels)("a server of the $name protocol", (model) => {
  test("may answer without a stream", async () => {
    const { error, text, events } = await played(model, [{ json: documents[model.name] }]);
    expect([error, text]).toEqual([null, "hi"]);
    expect(JSON.stringify(events)).toContain("reports no usage");
  });

  test.each([
    [{ error: { message: "Insufficient credits", type: "billing_error" } }, "LLM_BILLING", false],
    [{ error: { message: "Rate limit exceeded", code: 429 } }, "LLM_RATE_LIMIT", true],
    [{ error: "the model is overloaded" }, "LLM_OVERLOADED", true],
    [{ error: { message: "no", code: 503 } }, "LLM_OVERLOADED", true],
    [{ error: { message: "no", code: "429" } }, "LLM_RATE_LIMIT", true],
    [{ type: "error", error: { type: "api_error", message: "no" } }, "LLM_SERVER_ERROR", true],
  ])("may report the error %j with status 200, in a stream too", async (json, code, retryable) => {
    expect((await played(model, [{ json }])).error).toMatchObject({
      code,
      retryable,
      isFree: false,
    });
    expect((await played(model, [{ sse: [json] }])).error).toMatchObject({ code, retryable });
  });

  test.each([[null], [7], ["text"], [{}], [[]], [{ status: "ok" }]])(
    "may answer %j, which is a readable error",
    async (json) => {
      const { error } = await played(model, [{ json }]);
      expect(error).toMatchObject({
        message: expect.not.stringContaining("not JSON"),
        retryable: expect.any(Boolean),
      });
    },
  );

  test("may send its events as a JSON array, and leave out their names and the end mark", async () => {
    const [stream = ""] = await recordedOf(model, [{ text: "the whole answer" } satisfies Reply]);
    const sse = eventsIn(stream).map(({ data }) => data);
    expect((await played(model, [{ sse }])).text).toBe("the whole answer");
    expect((await played(model, [{ json: sse }])).text).toBe("the whole answer");
  });

  test("may send integers beyond 2^53, which stay exact", async () => {
    const reply = { tools: [{ name: "look", json: '{"id": 9007199254740993, "n": 1}' }] };
    const streams = await recordedOf(model, [reply, { text: "done" }]);
    const answers = streams.map((stream) => ({ sse: eventsIn(stream).map(({ data }) => data) }));
    const exact = await played(model, answers);
    expect(exact.inputs).toEqual([{ id: "9007199254740993", n: 1 }]);
    expect(exact.bodies[1]).toMatch(/\\?"id\\?": ?9007199254740993\b/);
    const tools = looks([], z.object({ id: z.number() }));
    const { bodies } = await played(model, answers, { tools });
    expect(bodies[1]).toContain(
      "9007199254740993: a number can't hold an integer beyond 2^53 exactly",
    );
    const fields = await recordedOf(model, [{ text: '{"id": 9007199254740993}' }]);
    const one = (schema: z.ZodObject) =>
      role({ description: "", agent: model.agent(), systemPrompt: "", schema, repairs: 0 })(
        threadAt(
          model,
          serving(...fields.map((stream) => ({ sse: eventsIn(stream).map(({ data }) => data) }))),
        ),
      );
    expect(await one(z.object({ id: z.string() }))).toMatchObject({
      meta: { id: "9007199254740993" },
    });
    expect(await failureOf(one(z.object({ id: z.number() })))).toMatchObject({
      code: "EXTRACTION_FAILED",
      message: expect.stringContaining("9007199254740993"),
    });
  });

  test("may report invalid token counts without a loss of the answer", async () => {
    const [stream = ""] = await recordedOf(model, [{ text: "the whole answer" }]);
    for (const count of [null, 1e308, -1, "7", {}]) {
      const text = JSON.stringify(eventsIn(stream)).replace(
        /("[a-z]+_tokens"):\d+/g,
        `$1:${JSON.stringify(count)}`,
      );
      const sse = (JSON.parse(text) as { data: unknown }[]).map(({ data }) => data);
      const run = await played(model, [{ sse }]);
      expect([count, run.error, run.text]).toEqual([count, null, "the whole answer"]);
    }
  });
});

describe("chat completions of other servers", () => {
  const done = { sse: [message({ content: "done" }), end] };

  test.each<[string, object[], unknown[]]>([
    [
      "with the same index",
      [call(0, "a", '{"n":1}'), call(0, "b", '{"n":2}')],
      [{ n: 1 }, { n: 2 }],
    ],
    [
      "with the same index and without ids",
      [call(0, undefined, '{"n":1}'), call(0, "", '{"n":2}')],
      [{ n: 1 }, { n: 2 }],
    ],
    [
      "with the same index and id",
      [call(0, "a", '{"n":1}'), call(0, "a", '{"n":2}')],
      [{ n: 1 }, { n: 2 }],
    ],
    [
      "with objects as arguments",
      [call(0, "a", { n: 1 }), call(1, "b", { n: 2 })],
      [{ n: 1 }, { n: 2 }],
    ],
    [
      "with the same index and without ids, in pieces",
      [1, 2].flatMap((n) => [
        call(0, undefined, ""),
        message({ tool_calls: [{ index: 0, function: { arguments: `{"n":${n}}` } }] }),
      ]),
      [{ n: 1 }, { n: 2 }],
    ],
    ["with the same index and without arguments", [call(0, "a", ""), call(0, "b", "")], [{}, {}]],
    [
      "with the name in each piece",
      [call(0, "a", '{"n":'), call(0, "a", "1}"), call(0, "a", "")],
      [{ n: 1 }],
    ],
    ["twice", [call(0, "a", '{"n":1}'), call(0, "a", '{"n":1}')], [{ n: 1 }]],
    [
      "in the form of `function_call`",
      [message({ function_call: { name: "look", arguments: '{"n":1}' } })],
      [{ n: 1 }],
    ],
  ])("may send calls %s", async (_, chunks, expected) => {
    const run = await played(chat, [{ sse: [...chunks, message({}, "tool_calls")] }, done]);
    expect([run.text, run.inputs]).toEqual(["done", expected]);
  });

  test("may send content as parts, and leave out fields of chunks", async () => {
    const part = (type: string, text: string) => ({ type, [type]: text });
    const sse = [
      ...[{}, { choices: null }, { choices: [{}] }, { choices: [{ delta: null }] }],
      message({ content: [part("thinking", "hm"), part("text", "the ")] }),
      message({ content: part("text", "answer") }),
      { choices: [{ finish_reason: "stop" }] },
    ];
    const { text, events } = await played(chat, [{ sse }]);
    const thought = events.filter(({ type }) => type === "llm_thinking");
    expect([text, thought.map(({ payload }) => payload.delta)]).toEqual(["the answer", ["hm"]]);
  });

  test("may refuse `max_tokens`, and get a second request with `max_completion_tokens`", async () => {
    const refusal =
      "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.";
    const { text, bodies } = await played(
      chat,
      [{ status: 400, json: { error: { message: refusal, code: "unsupported_parameter" } } }, done],
      { maxTokens: 1000, model: "refuses-max-tokens" },
    );
    expect(text).toBe("done");
    expect(bodies[1]).toContain('"max_completion_tokens":1000');
  });

  test("may write thinking in tags before a text", async () => {
    const pieces = ["<th", "ink>so", " it is</thi", "nk>\n", "\nthe ", "answer"];
    const { text, events } = await played(chat, [
      { sse: [...pieces.map((content) => message({ content })), end] },
    ]);
    expect(text).toBe("the answer");
    const thought = events
      .filter(({ type }) => type === "llm_thinking")
      .map(({ payload }) => payload.delta);
    expect(thought.join("")).toBe("so it is");
    const less = await played(chat, [{ sse: [message({ content: "<thin air>" }), end] }]);
    expect(less.text).toBe("<thin air>");
  });

  test("fail when only the text before a tool call is understood", async () => {
    const aside = [message({ content: "I look." }), call(0, "a", "{}"), message({}, "tool_calls")];
    const usage = { usage: { prompt_tokens: 3, completion_tokens: 40 } };
    for (const lost of [
      [message({ hologram: "done" }), end],
      [end, { choices: [], ...usage }],
      [message({ reasoning: "done" }), end],
    ]) {
      const { error, text } = await played(chat, [{ sse: aside }, { sse: lost }]);
      expect([text, error]).toEqual([
        "",
        expect.objectContaining({ code: "LLM_EMPTY", retryable: true }),
      ]);
    }
    const { events, text } = await played(chat, [
      { sse: [message({ content: "done", hologram: "x" }), end] },
    ]);
    expect([text, JSON.stringify(events)]).toEqual([
      "done",
      expect.stringContaining("delta.hologram, which is not understood"),
    ]);
  });
});

describe("an answer all of whose parts have the index 0", () => {
  const done = (name: string) => ({ json: documents[name] });

  test("keeps each of its blocks", async () => {
    const block = (content_block: object, delta: object) => [
      { type: "content_block_start", index: 0, content_block },
      { type: "content_block_delta", index: 0, delta },
      { type: "content_block_stop", index: 0 },
    ];
    const use = (id: string, n: number) =>
      block(
        { type: "tool_use", id, name: "look", input: {} },
        { type: "input_json_delta", partial_json: `{"n":${n}}` },
      );
    const sse = [
      { type: "message_start", message: { id: "m", role: "assistant", content: [] } },
      ...block({ type: "text", text: "" }, { type: "text_delta", text: "I look." }),
      ...use("a", 1),
      ...use("b", 2),
      { type: "message_delta", delta: { stop_reason: "tool_use" } },
      { type: "message_stop" },
    ];
    const run = await played(by("anthropic"), [{ sse }, done("anthropic")]);
    expect([run.error, run.inputs]).toEqual([null, [{ n: 1 }, { n: 2 }]]);
  });

  test.each([true, false])("keeps each of its items (with end events: %s)", async (ends) => {
    const called = (id: string, n: number) => {
      const item = { type: "function_call", id, call_id: `c_${id}`, name: "look" };
      const whole = { ...item, arguments: `{"n":${n}}` };
      return [
        { type: "response.output_item.added", output_index: 0, item: { ...item, arguments: "" } },
        {
          type: "response.function_call_arguments.delta",
          ...{ output_index: 0, item_id: id, delta: whole.arguments },
        },
        ...(ends ? [{ type: "response.output_item.done", output_index: 0, item: whole }] : []),
      ];
    };
    const response = { id: "r", status: "completed", output: [] };
    const sse = [...called("a", 1), ...called("b", 2), { type: "response.completed", response }];
    const run = await played(by("responses"), [{ sse }, done("responses")]);
    expect([run.error, run.inputs]).toEqual([null, [{ n: 1 }, { n: 2 }]]);
  });
});

describe("the fields that a server requires with a tool's result", () => {
  const called = (fields: object, more: object = {}) => [
    message(fields),
    message({
      tool_calls: [{ index: 0, id: "c", function: { name: "look", arguments: "{}" }, ...more }],
    }),
    message({}, "tool_calls"),
  ];
  const answer = { sse: [message({ content: "hi" }), end] };
  const refusal = (said: string) => ({ status: 400, json: { error: { message: said } } });

  test("the model's thinking is sent back only to a server that requires it, from the first refusal on", async () => {
    const thought = called({ reasoning_content: "let me look" });
    const missing = refusal("Missing `reasoning_content` field in the assistant message");
    const run = await played(chat, [{ sse: thought }, missing, { sse: thought }, answer]);
    expect(run.code).toBeUndefined();
    const sent = run.bodies.map((body) => body.split("reasoning_content").length - 1);
    expect(sent).toEqual([0, 0, 1, 2]);
  });

  test("`reasoning_details` are sent back to a gateway that requires them", async () => {
    const details = [{ type: "reasoning.encrypted", data: "sealed", index: 0 }];
    const missing = refusal("Gemini models require OpenRouter reasoning details to be preserved");
    const turn = { sse: called({ reasoning: "x", reasoning_details: details }) };
    const { bodies, code } = await played(chat, [turn, missing, answer]);
    expect(code).toBeUndefined();
    expect(JSON.parse(bodies[2] as string).messages[2].reasoning_details).toEqual(details);
  });

  test("a call's signature is sent back with the call", async () => {
    const extra_content = { google: { thought_signature: "signed" } };
    const { bodies } = await played(chat, [{ sse: called({}, { extra_content }) }, answer]);
    const [sent] = JSON.parse(bodies[1] as string).messages[2].tool_calls;
    expect(sent).toMatchObject({ id: "c", extra_content });
  });
});

test.each(["error", "abort", "insufficient_system_resource", "malformed_function_call"])(
  "the request of an answer that ends with %s is retried",
  async (reason) => {
    const broken = { sse: [message({ content: "half" }), message({}, reason)] };
    const whole = { sse: [message({ content: "whole" }), end] };
    const run = await played(chat, [broken, whole], { maxRetries: 1 });
    expect([run.text, run.bodies.length]).toEqual(["whole", 2]);
  },
);

test("events without an empty line between them are read one by one", async () => {
  const lines = [message({ content: "a" }), message({ content: "b" }), end];
  const sse = lines.map((one) => `data: ${JSON.stringify(one)}\n`).join("");
  const { text } = await played(chat, [{ sse: [`${sse.slice("data: ".length)}data: [DONE]`] }]);
  expect(text).toBe("ab");
});

test("arguments in a JSON string are read", async () => {
  const text = JSON.stringify(JSON.stringify({ a: 1 }));
  const { inputs } = await played(chat, [
    { sse: [call(0, "c", text), message({}, "tool_calls")] },
    { sse: [message({ content: "hi" }), end] },
  ]);
  expect(inputs).toEqual([{ a: 1 }]);
});

test.each([
  ["so it is 4.\n</think>\n\n4", "4"],
  ["use `</think>` to end it", "use `</think>` to end it"],
  ["```\na\n</think>\n```\nends it", "```\na\n</think>\n```\nends it"],
])("thinking without an opening tag is not part of the answer: %j", async (content, said) => {
  expect((await played(chat, [{ sse: [message({ content }), end] }])).text).toBe(said);
});

test("the error for a response that is not an answer shows the response", async () => {
  const json = { base_resp: { status_code: 1004, status_msg: "login fail" } };
  const { code, error } = await played(chat, [{ json }]);
  expect([code, (error as Error).message]).toEqual([
    "LLM_BAD_ANSWER",
    expect.stringContaining("login fail"),
  ]);
});
