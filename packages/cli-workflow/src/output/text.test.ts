import { expect, test } from "bun:test";
import { count, truncate, firstLine, oneLine, plain } from "./text.ts";

test("what would steer a terminal is written out", () => {
  expect(plain("\u001b[2Jred\u0007 \u202etxt")).toBe("\\u001b[2Jred\\u0007 \\u202etxt");
});

test("every kind of line break is one", () => {
  expect(plain("a\r\nb\rc\u2028d\u2029e\u0085f\ng")).toBe("a\nb\nc\nd\ne\nf\ng");
});

test("a lone surrogate becomes a character that can be written", () => {
  expect(plain("a\ud800b")).toBe("a\ufffdb");
});

test("the first line is the first that is not blank", () => {
  expect(firstLine("\n  \n\tfirst\tone \nsecond")).toBe("first one");
  expect(firstLine("")).toBe("");
});

test("one line holds all lines", () => {
  expect(oneLine(" a\r\n\tb  c ")).toBe("a b c");
});

test("a text is truncated by its width in columns, never inside a character", () => {
  expect(truncate("abcdef", 6)).toBe("abcdef");
  expect(truncate("abcdefg", 6)).toBe("abcde…");
  expect(truncate("日本語日本", 6)).toBe("日本…");
  expect(truncate("👨‍👩‍👧👨‍👩‍👧👨‍👩‍👧", 5)).toBe("👨‍👩‍👧👨‍👩‍👧…");
});

test("a number of things has its plural", () => {
  expect([count(1, "step"), count(0, "step"), count(2, "step")]).toEqual([
    "1 step",
    "0 steps",
    "2 steps",
  ]);
});
