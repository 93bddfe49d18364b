import { describe, expect, test } from "bun:test";
import { ExpressionError } from "./error.ts";
import { ExpressionEvaluator } from "./evaluator.ts";

const shared = { list: [1, { deep: true }] };
const evaluator = new ExpressionEvaluator({ $n: 2, $o: shared, $text: "=1", goal: "ship" });

describe("a field", () => {
  test.each([
    ["=1+2", 3],
    ["1+2", "1+2"],
    ["==x", "=x"],
    ["===x", "==x"],
    ["", ""],
    [" =1", " =1"],
    ["=$o + ''", '{"list":[1,{"deep":true}]}'],
    ["=$missing.a.b", undefined],
    ['=$note || "d"', "d"],
    ["=goal", "ship"],
    ["=$text", "=1"],
    [7, 7],
    [null, null],
    [undefined, undefined],
  ])("%p is %p", (field, expected) => {
    expect(evaluator.evaluate(field)).toEqual(expected as never);
  });

  test("that is a list or an object is itself, unless all of it is asked for", () => {
    const field = { a: ["=$n", "==n", { b: "=$n * 2" }], c: "x" };
    expect(evaluator.evaluate(field)).toBe(field);
    expect(evaluator.resolve(field)).toEqual({ a: [2, "=n", { b: 4 }], c: "x" });
  });

  test("that can't be evaluated throws", () => {
    expect(() => evaluator.evaluate("=")).toThrow(ExpressionError);
    expect(() => evaluator.resolve({ a: ["=1 +"] })).toThrow(ExpressionError);
    expect(() => evaluator.condition("")).toThrow(ExpressionError);
  });
});

describe("a resolved field", () => {
  test("shares nothing with the scope", () => {
    const copy = evaluator.resolve({ o: "=$o" }) as { o: typeof shared };
    expect(copy).toEqual({ o: { list: [1, { deep: true }] } });
    expect(copy.o).not.toBe(shared);
    expect(copy.o.list[1]).not.toBe(shared.list[1]);
  });

  test("keeps a value of a class as it is", () => {
    const bytes = new Uint8Array([1, 2]);
    expect(new ExpressionEvaluator({ $b: bytes }).resolve(["=$b"])).toEqual([bytes]);
  });

  test("keeps a key that names the prototype a key", () => {
    const field: unknown = JSON.parse('{"__proto__": {"polluted": "=1"}}');
    const copy = evaluator.resolve(field) as object;
    expect(Object.getPrototypeOf(copy)).toBe(Object.prototype);
    expect(JSON.stringify(copy)).toBe('{"__proto__":{"polluted":1}}');
    expect("polluted" in {}).toBe(false);
  });

  test("that contains itself is an error", () => {
    const cyclic: unknown[] = [];
    cyclic.push(cyclic);
    expect(() => new ExpressionEvaluator({ $c: cyclic }).resolve("=$c")).toThrow("contains itself");
  });
});

test.each([
  ["$n > 1", true],
  ["=$n > 2", false],
  ["==no expression", true],
  ["$missing", false],
  ["'false'", false],
  [0, false],
  [true, true],
  [undefined, false],
])("the condition %p is %p", (condition, expected) => {
  expect(evaluator.condition(condition)).toBe(expected);
});

test("a scope may be a function", () => {
  const echo = new ExpressionEvaluator((name) => `<${name}>`);
  expect(echo.evaluate("=$a + _b + SYSVAR")).toBe("<$a><_b><SYSVAR>");
});

test("a record's names are its own keys only", () => {
  expect(evaluator.evaluate("=toString || __proto__ || constructor")).toBeUndefined();
});
