import { describe, expect, test } from "bun:test";
import { ago, cost, counted, duration, size, tokens, withoutMarks } from "./format.ts";

describe("a duration", () => {
  test.each([
    [-5, "0 ms"],
    [840, "840 ms"],
    [999.6, "1.0 s"],
    [12_340, "12.3 s"],
    [59_990, "59.9 s"],
    [245_000, "4 m 05 s"],
    [7_800_000, "2 h 10 m"],
    [90_000_000, "1 d 01 h"],
  ])("of %d ms reads %s", (ms, text) => {
    expect(duration(ms)).toBe(text);
  });
});

describe("an age", () => {
  test.each([
    [1_000, "now"],
    [12_000, "12 s ago"],
    [3 * 3_600_000, "3 h ago"],
    [5 * 86_400_000, "5 d ago"],
  ])("%d ms reads %s", (ms, text) => {
    expect(ago(1_000_000, 1_000_000 + ms)).toBe(text);
  });
});

describe("an amount", () => {
  test("of tokens is short, and zero is a dash", () => {
    expect([0, 840, 12_340, 999_960, 1_200_000].map(tokens)).toEqual([
      "–",
      "840",
      "12.3 k",
      "1.00 M",
      "1.20 M",
    ]);
  });

  test("of money has more digits for smaller amounts", () => {
    expect([0, 0.00001, 0.0123, 1.5, 12_345.678].map(cost)).toEqual([
      "–",
      "<$0.0001",
      "$0.0123",
      "$1.50",
      "$12,345.68",
    ]);
  });

  test("of characters is a size", () => {
    expect([840, 53_555, 1_300_000].map(size)).toEqual(["840 B", "52.3 KB", "1.2 MB"]);
  });

  test("of items has their noun", () => {
    expect([counted(1, "step"), counted(5_000, "step")]).toEqual(["1 step", "5,000 steps"]);
  });
});

test.each([
  ["# **Deploy** to [prod](https://x.example)?", "Deploy to prod?"],
  ["- run `rm -r out`", "run rm -r out"],
  ["2 * 3 and snake_case_name", "2 * 3 and snake_case_name"],
])("the line of Markdown %j is %j without marks", (line, expected) => {
  expect(withoutMarks(line)).toBe(expected);
});
