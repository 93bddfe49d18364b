import { expect, test } from "bun:test";
import { argumentsOf, GrowingText } from "./accumulator.ts";

test("arguments are an object, which is empty when they are missing", () => {
  expect(argumentsOf('{"a": 1}')).toEqual({ input: { a: 1 } });
  expect(argumentsOf("")).toEqual({ input: {} });
});

test("arguments that are not a JSON object are broken, with a reason for the model", () => {
  for (const json of ["[1]", "null", "7", '{"a": ', "NaN"]) {
    const { input, broken } = argumentsOf(json);
    expect(input).toEqual({});
    expect(broken).toContain("its arguments are");
  }
});

test("a growing text always equals the concatenation of its pieces", () => {
  const text = new GrowingText();
  expect(String(text)).toBe("");
  let whole = "";
  for (let n = 0; n < 5000; n += 1) {
    text.add(`${n} `);
    whole += `${n} `;
    if (n % 1700 === 0) expect(String(text)).toBe(whole);
  }
  expect(String(text)).toBe(whole);
});
