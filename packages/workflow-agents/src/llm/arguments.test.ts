import { expect, test } from "bun:test";
import { argumentsOf } from "./arguments.ts";

test("arguments are an object, and no arguments an empty one", () => {
  expect(argumentsOf('{"a": 1}')).toEqual({ input: { a: 1 } });
  expect(argumentsOf("")).toEqual({ input: {} });
});

test("what is no object is broken, in words for the model", () => {
  for (const json of ["[1]", "null", "7", '{"a": ', "NaN"]) {
    const { input, broken } = argumentsOf(json);
    expect(input).toEqual({});
    expect(broken).toContain("its arguments are");
  }
});
