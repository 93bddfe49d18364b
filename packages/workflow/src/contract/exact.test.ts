import { expect, test } from "bun:test";
import { isRounded, roundedIn, withExactNumbers } from "./exact.ts";

test("a number is rounded when it is an integer that comes out as another", () => {
  const exact = [
    "0",
    "-1",
    "9007199254740991",
    "9007199254740992",
    "100000000000000000000",
    "1e21",
  ];
  expect([...exact, "0.1", "1.5e3", "9007199254740993.5"].filter(isRounded)).toEqual([]);
  // A number holds the least integer of 64 bits, and writes it as -9223372036854776000.
  const rounded = ["9007199254740993", "-9007199254740993", "-9223372036854775808"];
  rounded.push("123456789012345678901", "1e400");
  expect(rounded.filter(isRounded)).toEqual(rounded);
});

test("numbers are found outside of texts alone", () => {
  const json = '{"9007199254740993": "\\"9007199254740993", "a": [1, {"id":9007199254740993}]}';
  expect(roundedIn(json)).toEqual({ text: "9007199254740993", offset: json.lastIndexOf("9007") });
  expect(roundedIn(json.replace(":9007199254740993", ":1"))).toBeNull();
  expect(JSON.parse(withExactNumbers(json))).toEqual({
    "9007199254740993": '"9007199254740993',
    a: [1, { id: "9007199254740993" }],
  });
});
