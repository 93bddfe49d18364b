import { describe, expect, test } from "bun:test";
import { isLight } from "./light.ts";

describe("a text is laid out as Markdown", () => {
  test("when it is as long and as rich as what people read", () => {
    const item = "- **item** with a [link](https://example.org) and `code`\n";
    expect(isLight(item.repeat(200))).toBe(true);
    expect(isLight("- - > 1. nested\n---\n> - - -\n")).toBe(true);
  });

  test.each([
    ["it is very long", "a word ".repeat(5_000)],
    ["emphasis is begun without an end", "*a_ ".repeat(1_500)],
    ["it is nested deeply", `a\n${"> ".repeat(500)}b`],
    ["its lists are nested deeply in one line", `${"1. - ".repeat(100)}b`],
  ])("not when %s", (_, text) => {
    expect(isLight(text)).toBe(false);
  });
});
