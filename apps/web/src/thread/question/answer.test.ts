import { describe, expect, test } from "bun:test";
import { decided, questionOf, requestOf, takesText, textRequest } from "./answer.ts";

const question = (meta: Record<string, unknown>) =>
  questionOf({
    role: "__wait__",
    content: "Ship it?",
    meta: { for: "approval", ...meta },
    timestamp: 0,
    number: 3,
  });

describe("a decision", () => {
  test("does not answer an open question or a text question", () => {
    for (const meta of [
      {},
      { schema: true },
      { schema: { type: "string", minLength: 1 } },
      { schema: { enum: ["a", "b"] } },
      { for: "pause", form: { type: "string" } },
    ]) {
      expect(question(meta).decision).toBeNull();
    }
  });

  test("is the value of a boolean question", () => {
    const asked = question({ schema: { type: "boolean" } });
    expect(decided(asked, undefined, false)).toBe(false);
    expect(requestOf(asked, true)).toEqual({ content: "true", value: true, question: 3 });
  });

  test("sets its property beside the other fields", () => {
    const schema = { type: "object", properties: { approved: { type: "boolean" }, why: {} } };
    expect(decided(question({ schema }), { approved: false, why: "good" }, true)).toEqual({
      approved: true,
      why: "good",
    });
  });

  test("of an unspecific Pause is the value that its Branch reads: $answer.approved", () => {
    for (const form of [undefined, { type: "object" }]) {
      const pause = question({ for: "pause", token: "t", form });
      expect(requestOf(pause, decided(pause, undefined, false))).toEqual({
        content: '{"approved":false}',
        value: { approved: false },
        question: 3,
      });
    }
    const bool = question({ for: "pause", form: { type: "boolean" } });
    expect(decided(bool, undefined, false)).toBe(false);
  });
});

describe("a tool call", () => {
  const asked = (content: string, more: object = {}) =>
    questionOf({
      ...{ role: "__wait__", content, timestamp: 0, number: 1 },
      meta: { for: "tool", tool: "deploy", input: { n: 1 }, stepID: "claude", schema: {}, ...more },
    });

  test("has the asking step, and its text is only the reason of a repeated question", () => {
    const first = 'claude asks to run deploy {"n":1}';
    expect(asked(first)).toMatchObject({ asker: "claude", text: "", call: { tool: "deploy" } });
    const problem = "the last answer was not a decision";
    expect(asked(`${first} (${problem})`, { problem }).text).toBe(problem);
    expect(asked(`${first} (${problem})`).text).toBe("");
  });
});

describe("an approval", () => {
  const schema = { properties: { decision: { enum: ["approve", "reject"] }, note: {} } };

  test("carries its subject and is not a form", () => {
    expect(question({ schema, input: { text: "a" } }).approval).toEqual({ subject: { text: "a" } });
    expect(question({ schema }).approval).toEqual({ subject: undefined });
    expect(question({}).approval).toBeNull();
    expect(
      question({ schema: { properties: { decision: { type: "string" } } } }).approval,
    ).toBeNull();
  });
});

describe("a text", () => {
  test("is the answer to a text question and to a question without a type", () => {
    const texts = [{}, { schema: { type: "string" } }, { for: "pause" }].map(question);
    expect(texts.map(takesText)).toEqual([true, true, true]);
    const others = [{ type: "string", enum: ["a"] }, { type: "number" }, { type: "object" }];
    expect(others.map((schema) => takesText(question({ schema })))).toEqual([false, false, false]);
  });

  test("is sent for the server to parse as JSON, except for a text question", () => {
    expect(textRequest(question({ token: "t" }), '{"a":1}')).toEqual({
      content: '{"a":1}',
      question: 3,
    });
    const asked = question({ schema: { type: "string" } });
    expect(textRequest(asked, "12")).toEqual({ content: "12", value: "12", question: 3 });
  });
});
