import { describe, expect, test } from "bun:test";
import {
  allRounded,
  exactJson,
  isRawNumber,
  isRounded,
  losslessJson,
  parseExact,
  rawNumber,
  roundedIn,
} from "./exact.ts";

test("a number is rounded when parsing changes its integer or makes it infinite", () => {
  const exact = [
    "0",
    "-1",
    "9007199254740991",
    "9007199254740992",
    "100000000000000000000",
    "1e21",
  ];
  expect([...exact, "0.1", "1.5e3", "9007199254740993.5"].filter(isRounded)).toEqual([]);
  // A JavaScript number can represent the smallest 64-bit integer, but is written as -9223372036854776000.
  const rounded = ["9007199254740993", "-9007199254740993", "-9223372036854775808"];
  rounded.push("123456789012345678901", "1e400");
  expect(rounded.filter(isRounded)).toEqual(rounded);
});

describe("parseExact", () => {
  const json =
    '{"9007199254740993": "\\"9007199254740993", "a": [1, {"id":9007199254740993}, -1e400, 1e300]}';

  test("finds numbers only outside of strings", () => {
    const [id, huge] = ["9007199254740993", "-1e400"];
    expect([...allRounded(json)]).toEqual([
      { text: id, offset: json.lastIndexOf(id) },
      { text: huge, offset: json.lastIndexOf(huge) },
    ]);
    expect(roundedIn(json)?.text).toBe(id);
    expect(roundedIn('{"id":1,"text":"9007199254740993"}')).toBeNull();
  });

  test("returns the texts of rounded numbers, or converted values", () => {
    const found = { "9007199254740993": '"9007199254740993' };
    const [id, huge] = ["9007199254740993", "-1e400"];
    expect(parseExact(json)).toEqual({ ...found, a: [1, { id }, huge, 1e300] });
    expect(parseExact(json, (text) => text.length)).toEqual({
      ...found,
      a: [1, { id: 16 }, 6, 1e300],
    });
    expect(parseExact('{"a":1}', () => "none")).toEqual({ a: 1 });
  });

  test("keeps keys with the names of inherited properties", () => {
    const text = '{"__proto__":{"id":9007199254740993},"constructor":[9007199254740993]}';
    expect(JSON.stringify(parseExact(text, rawNumber))).toBe(text);
  });

  test("refuses invalid JSON", () => {
    for (const text of ["", "{", "9007199254740993,", '{"id":9007199254740993']) {
      expect(() => parseExact(text)).toThrow(SyntaxError);
    }
  });
});

test("a raw number is written with its digits", () => {
  const long = rawNumber("9007199254740993");
  expect(JSON.stringify({ long })).toBe('{"long":9007199254740993}');
  expect([long, 9_007_199_254_740_992, "9007199254740993"].map(isRawNumber)).toEqual([
    true,
    false,
    false,
  ]);
});

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

  test("returns null for any other text", () => {
    const texts = [
      ..."|yes|007|1.0|1.10|1e3|+5|-0|0x10|NaN|Infinity|1e400|9007199254740993".split("|"),
      ...['"yes"', "True", "{", "[1,]", '{"a":1,"a":1}', '{"a":12345678901234567890}', "[1e999]"],
      ...['[{"a":{"b":1,"b":2}}]', '{"a":1} x', "constructor", "[".repeat(100_000)],
      `${"[".repeat(1_001)}${"]".repeat(1_001)}`,
    ];
    for (const text of texts) expect(exactJson(text)).toBeNull();
  });
});

test("losslessJson parses JSON in any notation, and returns null for JSON that parsing would change", () => {
  const read = ['"yes"', "1.0", "1e3", " 5 "].map((text) => losslessJson(text)?.value);
  expect(read).toEqual(["yes", 1, 1_000, 5]);
  for (const text of ["yes", "007", "9007199254740993", "1e400", '{"a":1,"a":1}', ""])
    expect(losslessJson(text)).toBeNull();
});
