import { describe, expect, test } from "bun:test";
import { decided, questionOf, requestOf } from "./answer.ts";

const question = (meta: Record<string, unknown>) =>
  questionOf({
    role: "__wait__",
    content: "Ship it?",
    meta: { for: "approval", ...meta },
    timestamp: 0,
  });

describe("yes and no", () => {
  test("are words where any text is taken", () => {
    for (const meta of [{}, { schema: true }, { schema: { type: "string", minLength: 1 } }]) {
      expect(decided(question(meta), undefined, true)).toBe("yes");
      expect(decided(question(meta), undefined, false)).toBe("no");
    }
  });

  test("are values where a decision is asked for", () => {
    expect(decided(question({ schema: { type: "boolean" } }), undefined, false)).toBe(false);
  });

  test("go into the property for the decision, beside what else was filled in", () => {
    const schema = { type: "object", properties: { approved: { type: "boolean" }, why: {} } };
    expect(decided(question({ schema }), { approved: false, why: "good" }, true)).toEqual({
      approved: true,
      why: "good",
    });
  });

  test("are no answers to any other question", () => {
    expect(question({ schema: { enum: ["a", "b"] } }).decision).toBeNull();
    expect(question({ schema: { type: "string", enum: ["a"] } }).decision).toBeNull();
  });
});

describe("an answer", () => {
  test("is sent as text and as value, with the question's token", () => {
    expect(requestOf(question({ token: "t" }), { a: 1 })).toEqual({
      content: '{"a":1}',
      value: { a: 1 },
      meta: { token: "t" },
    });
    expect(requestOf(question({}), "12")).toEqual({ content: "12", value: "12" });
  });
});
