import { expect, test } from "bun:test";
import { ago, count, elapsed, firstLine, isoTime, oneLine, plain, truncate } from "./text.ts";

test("control characters are printed as escapes", () => {
  expect(plain("\u001b[2Jred\u0007 \u202etxt")).toBe("\\u001b[2Jred\\u0007 \\u202etxt");
});

test("every kind of line break becomes a line feed", () => {
  expect(plain("a\r\nb\rc\u2028d\u2029e\u0085f\ng")).toBe("a\nb\nc\nd\ne\nf\ng");
});

test("a lone surrogate becomes the replacement character", () => {
  expect(plain("a\ud800b")).toBe("a\ufffdb");
});

test("the first line is the first non-blank line", () => {
  expect(firstLine("\n  \n\tfirst\tone \nsecond")).toBe("first one");
  expect(firstLine("")).toBe("");
});

test("oneLine joins all lines", () => {
  expect(oneLine(" a\r\n\tb  c ")).toBe("a b c");
});

test("a text is truncated by its display width, never inside a character", () => {
  expect(truncate("abcdef", 6)).toBe("abcdef");
  expect(truncate("abcdefg", 6)).toBe("abcde…");
  expect(truncate("日本語日本", 6)).toBe("日本…");
  expect(truncate("👨‍👩‍👧👨‍👩‍👧👨‍👩‍👧", 5)).toBe("👨‍👩‍👧👨‍👩‍👧…");
});

test("a count has the plural of its noun", () => {
  expect([count(1, "step"), count(0, "step"), count(2, "step")]).toEqual([
    "1 step",
    "0 steps",
    "2 steps",
  ]);
});

const now = Date.UTC(2026, 4, 6, 12, 0, 0);

test("a moment is shown by its age", () => {
  const spans: [number, string][] = [
    [0, "just now"],
    [12_000, "12s ago"],
    [3 * 60_000, "3m ago"],
    [5 * 3_600_000, "5h ago"],
    [2 * 86_400_000, "2d ago"],
    [40 * 86_400_000, "2026-03-27"],
  ];
  for (const [span, text] of spans) expect(ago(now - span, now)).toBe(text);
});

test("a future moment, after the clock was set back, is shown as just now", () => {
  expect(ago(now + 3_600_000, now)).toBe("just now");
});

test("a span is shown in its two largest units", () => {
  const spans: [number, string][] = [
    [-5, "0.0s"],
    [449, "0.4s"],
    [12_900, "12s"],
    [185_000, "3m 05s"],
    [7_380_000, "2h 03m"],
    [352_800_000, "4d 02h"],
  ];
  for (const [span, text] of spans) expect(elapsed(span)).toBe(text);
});

test("a time outside the calendar is shown as its number", () => {
  expect(isoTime(now)).toBe("2026-05-06T12:00:00.000Z");
  expect(isoTime(1e18)).toBe("1000000000000000000");
});
