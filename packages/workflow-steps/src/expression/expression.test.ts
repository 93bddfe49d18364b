import { describe, expect, test } from "bun:test";
import { evaluate, ExpressionEvaluator, namesIn, problemIn, remembered } from "./expression.ts";
import { ExpressionError } from "./parse.ts";

const values: Record<string, unknown> = {
  $n: 3,
  $text: "hello",
  $list: [10, 20, { id: "c" }],
  $o: { a: { b: 1 }, "a-b": 2, key: "a" },
  $none: null,
  $cyclic: null,
  goal: "ship",
  _index: 1,
  SYSVAR: { today: "2026-01-02" },
};
const own = (name: string) => (Object.hasOwn(values, name) ? values[name] : undefined);
const value = (source: string) => evaluate(source, own);

function errorOf(source: string, scope = own): ExpressionError {
  try {
    evaluate(source, scope);
  } catch (error) {
    if (error instanceof ExpressionError) return error;
    throw error;
  }
  throw new Error(`${source} has a value`);
}

describe("an expression", () => {
  test.each([
    ["1+2", 3],
    ["1 + 2 * 3", 7],
    ["(1 + 2) * 3", 9],
    ["10 - 2 - 3", 5],
    ["12 / 3 / 2", 2],
    ["1--1", 2],
    ["-$n * 2", -6],
    ["2e3 + 0.5", 2000.5],
    ["!0 && !''", true],
    ["1 < 2 == true", true],
    ["1 == 1 && 2 > 1 || false", true],
    ["0 || 'a' && 'b'", "b"],
    ["null", null],
    ["undefined", undefined],
  ])("%s is %p", (source, expected) => {
    expect(value(source)).toEqual(expected as never);
  });

  test.each([
    ["goal", "ship"],
    ["$o.a.b", 1],
    ["$o . a\n.b", 1],
    ["$o['a-b']", 2],
    ['$o[$o.key]["b"]', 1],
    ["$list[0]", 10],
    ["$list['1']", 20],
    ["$list[_index]", 20],
    ["$list.1", 20],
    ["$list[2].id", "c"],
    ["$list.length", 3],
    ["$text.length", 5],
    ["$text[1]", "e"],
    ["SYSVAR.today", "2026-01-02"],
    ["(1 && $o).a.b", 1],
  ])("reads %s", (source, expected) => {
    expect(value(source)).toBe(expected);
  });

  test.each([
    "$missing.a.b",
    "$none.a[0]",
    "$list[9]",
    "$list[-1]",
    "$list['01']",
    "$list[null]",
    "$n.a",
    "missing",
  ])("reads undefined for %s, without an error", (source) => {
    expect(value(source)).toBeUndefined();
  });

  test.each([
    ["constructor"],
    ["toString"],
    ["__proto__"],
    ["$o.constructor"],
    ["$o.__proto__"],
    ["$o['__proto__'].polluted"],
    ["$list.map"],
    ["$text.constructor"],
    ["$text['toString']"],
    ["$n.toFixed"],
    ["goal.length.constructor"],
  ])("does not read a prototype with %s", (source) => {
    expect(value(source)).toBeUndefined();
  });

  test("can't read a function's properties", () => {
    expect(evaluate("f.prototype || f.length || f.name", () => Object)).toBeUndefined();
  });

  test("accepts JSON's escapes in both kinds of quotes", () => {
    expect(value(String.raw`'it\'s\n\u00e9\\' + "\"\t\/"`)).toBe("it's\né\\\"\t/");
  });

  test("accepts names in any script", () => {
    expect(evaluate("$计划.標題 + имя", (name) => (name === "имя" ? "!" : { 標題: "ok" }))).toBe(
      "ok!",
    );
  });

  test("does not evaluate an operand that it does not need", () => {
    expect(value("false && 1 / 0")).toBe(false);
    expect(value("$note || 'd'")).toBe("d");
    expect(value("1 || 1 / 0")).toBe(1);
  });
});

describe("an invalid expression", () => {
  test.each([
    ["", 0, "missing value at the end"],
    ["   ", 3, "missing value at the end"],
    ["1 +", 3, "missing value at the end"],
    ["'open", 0, "unterminated string"],
    ['$a["open]', 3, "unterminated string"],
    ["$a[1", 2, 'missing closing "]"'],
    ["(1 + 2", 0, 'missing closing ")"'],
    ["(1]", 2, 'expected ")", found "]"'],
    ["1)", 1, "not expected"],
    ["1 2", 2, "not expected"],
    ["$a = 1", 3, "use == to compare"],
    ["$a === 1", 3, "=== is not supported"],
    ["f(x)", 1, "function calls are not supported"],
    ["(f(x))", 2, "function calls are not supported"],
    ["a ? b : c", 2, "?: is not supported"],
    ["a % b", 2, "% is not supported"],
    ["a & b", 2, "unexpected"],
    ["{}", 0, "object literals"],
    ["$a.", 2, "missing key"],
    ["* 2", 0, "before"],
    ["'\\q'", 1, "not a valid escape"],
    ["1e999", 0, "too large"],
    ["\ud800", 0, "unexpected"],
  ])("%p is refused with the offset of the error", (source, offset, message) => {
    const error = errorOf(source);
    expect(error.message).toContain(message);
    expect(error).toMatchObject({ offset, source, code: "EXPRESSION_INVALID", kind: "failed" });
    expect(problemIn(source)).toMatchObject({ offset });
  });

  test("is quoted in the error, on one line and shortened around the offset", () => {
    expect(errorOf("$a = 1").message).toBe(
      'expression "$a = 1", offset 3: assignment is not supported; use == to compare',
    );
    const far = errorOf(`${"1 +\n".repeat(100)}?${" + 2".repeat(100)}`);
    expect(far.message.length).toBeLessThan(250);
    expect(far.message).not.toContain("\n");
    expect(far.message).toContain("? + 2");
  });
});

describe("the limits of an expression", () => {
  test("allow 10,000 characters in any chain of operators", () => {
    expect(value(`1${"+1".repeat(4999)}`)).toBe(5000);
    expect(value(`0${"||0".repeat(3333)}`)).toBe(0);
    expect(value(`a${".a".repeat(4999)}`)).toBeUndefined();
    expect(errorOf(`1${"+1".repeat(5000)}`).message).toContain("more than 10000");
  });

  test("allow 100 levels and no more", () => {
    const nested = (levels: number) => `${"(".repeat(levels)}1${")".repeat(levels)}`;
    expect(value(nested(100))).toBe(1);
    expect(errorOf(nested(101)).message).toContain("more than 100 levels");
    expect(value(`${"!".repeat(100)}1`)).toBe(true);
    expect(errorOf("-".repeat(5000)).message).toContain("more than 100 levels");
    expect(errorOf("a[".repeat(4000)).message).toContain("more than 100 levels");
  });

  test("turn a megabyte of parentheses into one short error", () => {
    expect(errorOf("(".repeat(1_000_000)).message.length).toBeLessThan(250);
  });
});

describe("a value that an operator rejects", () => {
  test.each([
    ["'a' * 2", 'the text "a" is not a number'],
    ["-$text", 'the text "hello" is not a number'],
    ["$o - 1", "an object is not a number"],
    ["$list * 1", "an array is not a number"],
    ["1 / 0", "division by zero"],
    ["1 / $none", "division by zero"],
    ["1e308 * 10", "not a finite number"],
    ["9007199254740991 + 2", "the result 9007199254740993 can't be kept exactly"],
    ["-9007199254740991 - 2", "the result -9007199254740993 can't be kept exactly"],
    ["9007199254740991 * 1025", "the result 9232379236109515775 can't be kept exactly"],
  ])("fails the expression %s", (source, message) => {
    const error = errorOf(source);
    expect(error.message).toContain(message);
    expect(error.code).toBe("EXPRESSION_FAILED");
    expect(error.hint).toBeTruthy();
    expect(problemIn(source)).toBeNull();
  });

  test("throws an ExpressionError even if reading the value throws", () => {
    const cyclic: Record<string, unknown> = {};
    cyclic.self = cyclic;
    expect(errorOf("x + ''", () => cyclic).message).toContain("can't be converted to JSON");
    const trap = new Proxy({}, { getOwnPropertyDescriptor: () => expect.unreachable() });
    expect(errorOf("x.a", () => trap).message).toContain("can't be read");
    const thrower = () => {
      throw new Error("no scope");
    };
    expect(errorOf("x", thrower).cause).toMatchObject({ message: "no scope" });
  });
});

test("namesIn lists each name once, without keys and literals", () => {
  expect(namesIn("$a.b[$c] + goal * !$a || true && _item.$d == 'x'")).toEqual([
    "$a",
    "$c",
    "goal",
    "_item",
  ]);
  expect(namesIn("$a +")).toEqual([]);
});

test("expressions evaluate correctly even if there are more expressions than the cache holds", () => {
  for (let round = 0; round < 2; round += 1) {
    for (let index = 0; index < 2500; index += 1) expect(value(`${index}+1`)).toBe(index + 1);
  }
});

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

  test("with an array or an object is unchanged by evaluate, and evaluated by resolve", () => {
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

  test("keeps a class instance unchanged", () => {
    const bytes = new Uint8Array([1, 2]);
    expect(new ExpressionEvaluator({ $b: bytes }).resolve(["=$b"])).toEqual([bytes]);
  });

  test("keeps a key named `__proto__` as an own key", () => {
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

test("a scope can be a function", () => {
  const echo = new ExpressionEvaluator((name) => `<${name}>`);
  expect(echo.evaluate("=$a + _b + SYSVAR")).toBe("<$a><_b><SYSVAR>");
});

test("a record has only the names of its own keys", () => {
  expect(evaluator.evaluate("=toString || __proto__ || constructor")).toBeUndefined();
});

test("remembered caches values and drops the oldest at the limit", () => {
  const made: string[] = [];
  const lookUp = remembered((text) => made.push(text), 2);
  for (const text of ["a", "b", "a", "c", "c", "b", "a"]) lookUp(text);
  expect(made).toEqual(["a", "b", "c", "a"]);
});

test("remembered repeats a call that throws", () => {
  let count = 0;
  const lookUp = remembered(() => {
    count += 1;
    if (count === 1) throw new Error("first");
    return count;
  }, 2);
  expect(() => lookUp("a")).toThrow("first");
  expect(lookUp("a")).toBe(2);
});
