import { describe, expect, test } from "bun:test";
import { evaluate } from "./expression.ts";
import { sameValue, toBool, toFloat, toText } from "./value.ts";

const compare = (left: unknown, operator: string, right: unknown) =>
  evaluate(`left ${operator} right`, (name) => (name === "left" ? left : right));

test.each([
  [false, false],
  [0, false],
  [-0, false],
  [Number.NaN, false],
  ["", false],
  ["false", false],
  [null, false],
  [undefined, false],
  [true, true],
  ["False", true],
  ["0", true],
  [" ", true],
  [-1, true],
  [[], true],
  [{}, true],
])("the truth of %p is %p", (value, expected) => {
  expect(toBool(value)).toBe(expected);
});

test.each([
  [1.5, 1.5],
  ["1.5", 1.5],
  [" -2e3 ", -2000],
  [".5", 0.5],
  [true, 1],
  [false, 0],
  ["", 0],
  [" ", 0],
  ["0x10", 0],
  ["1px", 0],
  ["Infinity", 0],
  ["1e999", 0],
  [Number.NaN, 0],
  [null, 0],
  [undefined, 0],
  [[7], 0],
  [{}, 0],
])("%p is converted to the number %p", (value, expected) => {
  expect(toFloat(value)).toBe(expected);
});

test.each([
  ["a", "a"],
  [1.5, "1.5"],
  [true, "true"],
  [null, ""],
  [undefined, ""],
  [{ a: [1, null] }, '{"a":[1,null]}'],
  [() => 1, ""],
])("%p is converted to the text %p", (value, expected) => {
  expect(toText(value)).toBe(expected);
});

test("toText can indent JSON, and rejects cycles", () => {
  expect(toText({ a: 1 }, 2)).toBe('{\n  "a": 1\n}');
  const cyclic: Record<string, unknown> = {};
  cyclic.self = cyclic;
  expect(() => toText(cyclic)).toThrow(TypeError);
});

describe("==", () => {
  test.each([
    [null, undefined, true],
    [1, "1", true],
    ["-1.5", -1.5, true],
    [1, "01", false],
    [1, "1.0", false],
    [0, "", false],
    [0, null, false],
    [0, false, false],
    [true, "true", false],
    [1, true, false],
    ["a", "a", true],
    [{ a: [1, { b: 2 }] }, { a: [1, { b: 2 }] }, true],
    [{ a: 1, b: 2 }, { b: 2, a: 1 }, true],
    [{ a: 1 }, { a: "1" }, false],
    [{ a: 1 }, { a: 1, b: 2 }, false],
    [{ a: 1, b: 2 }, { a: 1 }, false],
    [[1, 2], [1], false],
    [[], {}, false],
    [{ length: 0 }, [], false],
    [{ a: null }, {}, false],
    [{ a: undefined }, {}, true],
    [{ toString: 1 }, {}, false],
    [{}, { toString: 1 }, false],
  ])("of %p and %p is %p", (left, right, expected) => {
    expect(compare(left, "==", right)).toBe(expected);
    expect(compare(right, "==", left)).toBe(expected);
    expect(compare(left, "!=", right)).toBe(!expected);
  });
});

describe("an order", () => {
  test.each([
    [1, "<", 2, true],
    ["10", "<", 9, false],
    ["10", "<", "9", true],
    ["Z", "<", "a", true],
    [2, ">=", "2", true],
    [true, ">", 0, true],
    [undefined, "<", 1, false],
    [1, ">=", undefined, false],
    [null, "<=", null, false],
    ["a", "<", 1, false],
    [{}, "<", {}, false],
  ])("%p %s %p is %p", (left, operator, right, expected) => {
    expect(compare(left, operator, right)).toBe(expected);
  });
});

describe("+", () => {
  test.each([
    [1, 2, 3],
    ["1", 2, "12"],
    [1, "", "1"],
    ["a", null, "a"],
    [undefined, "a", "a"],
    ["", { a: 1 }, '{"a":1}'],
    [[1, "b"], "", '[1,"b"]'],
    [null, 1, 1],
    [undefined, null, 0],
    [true, true, 2],
  ])("of %p and %p is %p", (left, right, expected) => {
    expect(compare(left, "+", right)).toEqual(expected as never);
  });

  test("and the other operators never return -0, which JSON can't hold", () => {
    expect(Object.is(compare(0, "*", -1), 0)).toBe(true);
    expect(Object.is(compare(-0, "+", -0), 0)).toBe(true);
    expect(
      Object.is(
        evaluate("-0", () => null),
        0,
      ),
    ).toBe(true);
  });
});

describe("sameValue", () => {
  test("distinguishes a number from its text, and ignores the order of keys and null versus undefined", () => {
    expect(sameValue(1, "1")).toBe(false);
    expect(sameValue({ a: 1, b: [undefined] }, { b: [null], a: 1 })).toBe(true);
    expect(sameValue(Number.NaN, Number.NaN)).toBe(true);
    expect(sameValue(new Date(1), new Date(2))).toBe(false);
    expect(sameValue(new Uint8Array([1]), new Uint8Array([2]))).toBe(false);
  });

  test("compares cycles and 100,000 levels", () => {
    const cycle = (length: number) => {
      const first: Record<string, unknown> = {};
      let last = first;
      for (let index = 1; index < length; index += 1) last = last.next = {} as typeof first;
      last.next = first;
      return first;
    };
    expect(sameValue(cycle(2), cycle(3))).toBe(true);
    const deep = (leaf: number) => {
      let value: unknown = leaf;
      for (let level = 0; level < 100_000; level += 1) value = [value];
      return value;
    };
    expect(sameValue(deep(1), deep(1))).toBe(true);
    expect(sameValue(deep(1), deep(2))).toBe(false);
  });
});
