import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { anthropicRefusal, chatRefusal, responsesRefusal } from "../../test/refusals.ts";
import { bodyOf as messagesBody } from "../anthropic/message.ts";
import { bodyOf as chatBody } from "../openai/completion.ts";
import { bodyOf as responsesBody } from "../openai/responses.ts";
import { type Block, cacheEnd, type Message, type ModelRequest } from "./provider.ts";
import { sendable } from "./sendable.ts";

const asked: ModelRequest = { model: "m", system: "", messages: [], tools: [] };
const anyId = (id: string): boolean => id !== "";
const plainId = (id: string): boolean => /^[\w-]+$/.test(id);

const sent = (messages: Message[], isId = plainId): Message[] =>
  sendable({ ...asked, messages }, isId).messages.slice();
const firstOf = ([message]: Message[]): unknown => message?.content[0];
const user = (...content: Block[]): Message => ({ role: "user", content });
const model = (...content: Block[]): Message => ({ role: "assistant", content });
const text = (said: string): Block => ({ type: "text", text: said });
const call = (id: string, name = "look", input: unknown = {}): Block => {
  return { type: "tool_use", id, name, input };
};
const result = (tool_use_id: string, content: unknown = "found"): Block => {
  return { type: "tool_result", tool_use_id, content };
};

test("a valid request is unchanged, including the marks for a provider's cache", () => {
  const marked = { ...text("a"), [cacheEnd]: true };
  const messages = [user(marked), model(text("b"), call("c1")), user(result("c1"))];
  expect(sent(messages)).toEqual(messages);
  expect(firstOf(sent(messages))).toBe(marked);
  const halved = { ...text("a\ud83d"), [cacheEnd]: true };
  expect(firstOf(sent([user(halved)]))).toEqual({
    ...text("a\ufffd"),
    [cacheEnd]: true,
  });
});

describe("a request that a service would refuse", () => {
  const cases: [string, Message[], Message[]][] = [
    ["a lone surrogate", [user(text("\ud83d key"))], [user(text("\ufffd key"))]],
    [
      "lone surrogates in a result, a name and a key",
      [
        user(text("a")),
        model(call("c", "look", { "\udc00": ["\ud800"] })),
        user(result("c", "\ud83d")),
      ],
      [
        user(text("a")),
        model(call("c", "look", { "\ufffd": ["\ufffd"] })),
        user(result("c", "\ufffd")),
      ],
    ],
    [
      "blank text before a call",
      [user(text("a")), model(text("\n\n"), call("c")), user(result("c"))],
      [user(text("a")), model(call("c")), user(result("c"))],
    ],
    ["an answer of blank text", [user(text("a")), model(text(" \u001c"))], [user(text("a"))]],
    ["a blank prompt", [{ role: "user", content: " " }], [user(text("(nothing)"))]],
    [
      "a tool name with a dot",
      [user(text("a")), model(call("c", "multi_tool_use.parallel")), user(result("c"))],
      [user(text("a")), model(call("c", "multi_tool_use_parallel")), user(result("c"))],
    ],
    [
      "a call id with a dot, and the same call id twice",
      [
        user(text("a")),
        model(call("c.1"), call("c.1")),
        user(result("c.1", "x"), result("c.1", "y")),
      ],
      [
        user(text("a")),
        model(call("c_1"), call("c_1_2")),
        user(result("c_1", "x"), result("c_1_2", "y")),
      ],
    ],
    [
      "the same call id in a later turn",
      [
        user(text("a")),
        model(call("c")),
        user(result("c")),
        model(call("c")),
        user(result("c", "y")),
      ],
      [
        user(text("a")),
        model(call("c")),
        user(result("c")),
        model(call("c_2")),
        user(result("c_2", "y")),
      ],
    ],
    [
      "an empty result",
      [user(text("a")), model(call("c")), user({ ...result("c", ""), is_error: true })],
      [user(text("a")), model(call("c")), user({ ...result("c", "(no output)"), is_error: true })],
    ],
    [
      "input that is not an object",
      [user(text("a")), model(call("c", "look", null)), user(result("c"))],
      [user(text("a")), model(call("c")), user(result("c"))],
    ],
    [
      "results in two messages",
      [user(text("a")), model(call("c"), call("d")), user(result("c")), user(result("d"))],
      [user(text("a")), model(call("c"), call("d")), user(result("c"), result("d"))],
    ],
    [
      "a partial answer that ends in whitespace",
      [user(text("a")), model(text("b \n"))],
      [user(text("a")), model(text("b"))],
    ],
  ];
  test.each(cases)("is repaired: %s", (_, messages, expected) => {
    expect(sent(messages)).toEqual(expected);
  });

  test("is repaired when a call lacks a result, or a result lacks a call", () => {
    const [, , missing] = sent([user(text("a")), model(call("c")), user(text("b"))]);
    expect(missing?.content).toEqual([
      expect.objectContaining({ type: "tool_result", tool_use_id: "c", is_error: true }),
      text("b"),
    ]);
    const [stray] = sent([user(result("gone", "found"))]);
    expect(stray?.content).toEqual([text("The result of a tool's call:\nfound")]);
    expect(sent([user(text("a")), model(call("c"))])).toHaveLength(3);
  });
});

test("an integer beyond 2^53 keeps the digits that the model sent", () => {
  const one = {
    ...call("c", "look", { id: "9007199254740993" }),
    exact: '{"id": 9007199254740993}',
  };
  const messages = [user(text("a")), model(one), user(result("c"))];
  const request = sendable({ ...asked, messages }, plainId);
  expect(JSON.stringify(messagesBody(request, false))).toContain('"input":{"id":9007199254740993}');
  expect(JSON.stringify(chatBody(request, false))).toContain('{\\"id\\":9007199254740993}');
});

test("a tool's schema is completed as services require", () => {
  const schemaOf = (input_schema: Record<string, unknown>) =>
    sendable({ ...asked, tools: [{ name: "t", description: "", input_schema }] }, plainId).tools[0]
      ?.input_schema;
  expect(schemaOf({})).toEqual({ type: "object", properties: {} });
  expect(schemaOf({ type: "object", properties: null, required: "a" })).toEqual({
    type: "object",
    properties: {},
  });
  expect(
    schemaOf({
      type: "object",
      properties: { a: { type: "array" }, b: true, c: { type: "object" } },
    }),
  ).toEqual({
    type: "object",
    properties: { a: { type: "array", items: {} }, b: {}, c: { type: "object", properties: {} } },
  });
  const [a, b] = [{ type: "string" }, { type: "number" }];
  expect(
    schemaOf({
      anyOf: [{ type: "object", properties: { a }, required: ["a"] }, { $ref: "#/$defs/both" }],
      $defs: { both: { type: "object", properties: { a, b }, required: ["a", "b"] } },
    }),
  ).toMatchObject({ type: "object", properties: { a, b }, required: ["a"] });
  expect(schemaOf({ properties: { a }, not: { required: ["b"] }, enum: [{ a: "b" }] })).toEqual({
    type: "object",
    properties: { a },
  });
  const kept = {
    type: "object",
    properties: { a: { enum: ["array"], default: { type: "array" } } },
  };
  expect(schemaOf(kept)).toEqual(kept);
});

/** Generates text as found in records or written by authors. */
const words = fc.oneof(
  fc.string({ unit: "binary", maxLength: 6 }),
  fc.constantFrom(
    "",
    " ",
    "\n\n",
    "\ud83d",
    "a b.c",
    "c1",
    "c1",
    "c2",
    "x".repeat(80),
    "{",
    '{"a":1}',
  ),
);
const block: fc.Arbitrary<Block> = fc.oneof(
  fc.record({ type: fc.constant("text"), text: words }),
  fc.record({
    ...{ type: fc.constant("tool_use"), id: words, name: words },
    input: fc.oneof(fc.dictionary(words, fc.jsonValue()), fc.constant(null), words),
  }),
  fc.record({
    ...{ type: fc.constant("tool_use"), id: words, name: words, input: fc.constant({}) },
    item: fc.record({
      ...{ type: fc.constant("function_call"), call_id: words, name: words, arguments: words },
    }),
  }),
  fc.record({
    ...{ type: fc.constant("tool_result"), tool_use_id: words },
    ...{ content: words, is_error: fc.boolean() },
  }),
);
const message: fc.Arbitrary<Message> = fc.record({
  role: fc.constantFrom("user", "assistant", "system"),
  content: fc.oneof(words, fc.array(block, { maxLength: 4 })),
});
const type = fc.constantFrom("object", "array", "string", null);
const required = fc.constantFrom<unknown>(["a"], "a", undefined);
const leaf = fc.record({ type });
const schemaOver = (inner: fc.Arbitrary<object>): fc.Arbitrary<Record<string, unknown>> =>
  fc.record(
    {
      ...{ type, required, items: inner, anyOf: fc.array(inner, { maxLength: 2 }) },
      ...{ not: inner, enum: fc.constant([{}]) },
      properties: fc
        .constantFrom(null, {})
        .chain((none) =>
          fc.oneof(
            fc.constant(none),
            fc.dictionary(fc.constantFrom("a", "b"), inner, { maxKeys: 2 }),
          ),
        ),
    },
    { requiredKeys: [] },
  );
const schema = schemaOver(schemaOver(leaf));

test("every service accepts every repaired request", () => {
  const messages = fc
    .array(message, { maxLength: 8 })
    .map((list): Message[] => [user(text("do it")), ...list]);
  fc.assert(
    fc.property(words, messages, schema, (system, list, input_schema) => {
      const tools = [{ name: "look", description: system, input_schema }];
      const request = { ...asked, system, messages: list, tools };
      // Returns the body as sent, without values that JSON cannot represent.
      const wire = (body: unknown): unknown => JSON.parse(JSON.stringify(body));
      expect(anthropicRefusal(wire(messagesBody(sendable(request, plainId), "5m")))).toBeNull();
      expect(chatRefusal(wire(chatBody(sendable(request, anyId), false)))).toBeNull();
      const isItemId = (id: string): boolean => id !== "" && id.length <= 64;
      expect(responsesRefusal(wire(responsesBody(sendable(request, isItemId), true)))).toBeNull();
    }),
    { numRuns: 300 },
  );
});
