import { describe, expect, test } from "bun:test";
import {
  countIn,
  jsonTextIn,
  reasonIn,
  saidIn,
  textOfContent,
  thoughtIn,
  UnreadableContent,
} from "./sent.ts";

const problemOf = (work: () => unknown): string => {
  try {
    work();
  } catch (error) {
    if (error instanceof UnreadableContent) return error.message;
    throw error;
  }
  throw new Error("no problem found");
};

describe("content", () => {
  const texts: [string, unknown, string][] = [
    ["a text", "hi", "hi"],
    ["null", null, ""],
    ["undefined", undefined, ""],
    ["an empty list", [], ""],
    [
      "parts",
      [
        { type: "text", text: "a" },
        { type: "output_text", text: "b" },
      ],
      "ab",
    ],
    ["a part alone", { type: "text", text: "a" }, "a"],
    ["parts without types", [{ text: "a" }, { content: "b" }], "ab"],
    ["texts and parts", ["a", { type: "text", text: "b" }], "ab"],
    ["parts within a part", [{ type: "text", text: [{ type: "text", text: "a" }] }], "a"],
    ["text with the sources of a quote", [{ type: "reference", reference_ids: [1] }, "a"], "a"],
    ["text with thinking", [{ type: "thinking", thinking: "hm" }, { text: "a" }], "a"],
  ];
  test.each(texts)("is read from %s", (_, content, text) => {
    expect(textOfContent(content, "content")).toBe(text);
  });

  test("is separated from thinking and a refusal", () => {
    const content = [
      { type: "thinking", thinking: [{ type: "text", text: "hm" }] },
      { type: "reasoning", summary: [{ type: "summary_text", text: " so" }] },
      { type: "redacted_thinking", data: "AA" },
      { type: "text", text: "yes" },
      { type: "refusal", refusal: "but no" },
    ];
    const said = { text: "yes", thinking: "hm so", refusal: "but no" };
    expect(saidIn(content, "content")).toEqual(said);
    expect(problemOf(() => textOfContent(content, "content"))).toBe("content has a refusal");
  });

  const problems: [unknown, string][] = [
    [7, "content is a number, not text"],
    [false, "content is a boolean, not text"],
    [[null], "content is null, not text"],
    [[{ type: "text", text: 7 }], "content.text is a number, not text"],
    [[{ type: "text" }], "content has a part without text"],
    [[{ type: "text", text: null }], "content.text is null, not text"],
    [{ a: 1 }, "content has a part without text"],
    [[{ type: "hologram", text: "a" }], 'content has a part of type "hologram"'],
    [[{ type: { a: 1 }, text: "a" }], "content has a part of type an object"],
    [[[[[[[[[[["a"]]]]]]]]]], "content is a list, not text"],
  ];
  test.each(problems)("is not read from %j", (content, problem) => {
    expect(problemOf(() => textOfContent(content, "content"))).toBe(problem);
  });
});

test("unreadable thinking is left out", () => {
  expect([thoughtIn("a"), thoughtIn({ a: 1 }), thoughtIn(null)]).toEqual(["a", "", ""]);
});

test("arguments may be sent as an object", () => {
  expect(jsonTextIn({ a: 1 }, "arguments")).toBe('{"a":1}');
  expect(problemOf(() => jsonTextIn([1], "arguments"))).toBe("arguments is a list, not text");
});

test("counts and reasons have the expected type, even if another type was sent", () => {
  expect([7, "7", null, undefined, Number.NaN, -1, 1.5].map((one) => countIn(one, 3))).toEqual([
    7, 3, 3, 3, 3, 3, 3,
  ]);
  expect(["stop", null, undefined, { a: 1 }].map(reasonIn)).toEqual([
    "stop",
    null,
    null,
    "an object",
  ]);
});
