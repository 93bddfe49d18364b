import { describe, expect, test } from "bun:test";
import { exactJson, losslessJson } from "./exact-json.ts";

describe("exactJson", () => {
  test.each<[string, unknown]>([
    ["true", true],
    ["null", null],
    ["5\n", 5],
    ["-2.5", -2.5],
    ["9007199254740991", 9_007_199_254_740_991],
    ['{"a":[1.0,{"b":"007"}]}', { a: [1, { b: "007" }] }],
    [' [1, "a\\"b:" ] ', [1, 'a"b:']],
    ['{"__proto__":1}', JSON.parse('{"__proto__":1}')],
    ["[]", []],
    ['{"a":1e21}', { a: 1e21 }],
  ])("reads %p", (text, value) => {
    expect(exactJson(text)).toEqual({ value });
  });

  test("leaves any other text as it is", () => {
    const texts = [
      ..."|yes|007|1.0|1.10|1e3|+5|-0|0x10|NaN|Infinity|1e400|9007199254740993".split("|"),
      ...['"yes"', "True", "{", "[1,]", '{"a":1,"a":1}', '{"a":12345678901234567890}', "[1e999]"],
      ...['[{"a":{"b":1,"b":2}}]', '{"a":1} x', "constructor", "[".repeat(100_000)],
      `${"[".repeat(1_001)}${"]".repeat(1_001)}`,
    ];
    for (const text of texts) expect(exactJson(text)).toBeNull();
  });
});

test("losslessJson reads all JSON that a value holds", () => {
  const read = ['"yes"', "1.0", "1e3", " 5 "].map((text) => losslessJson(text)?.value);
  expect(read).toEqual(["yes", 1, 1_000, 5]);
  for (const text of ["yes", "007", "9007199254740993", "1e400", '{"a":1,"a":1}', ""])
    expect(losslessJson(text)).toBeNull();
});
