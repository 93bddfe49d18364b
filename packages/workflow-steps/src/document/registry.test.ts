import { describe, expect, test } from "bun:test";
import { isWorkflowError } from "@uncaged/workflow";
import { Registry } from "./registry.ts";

const registry = new Registry({
  params: [
    "goal(STRING)",
    "n(INT) = 3",
    "tags([STRING]) = []",
    "opts(OBJECT) = {}",
    "x(Money) = 1",
  ],
  vars: ["$plan(OBJECT)", "$list(ARRAY) = [1]", "$on(BOOL) = false"],
  services: ["Find(q(STRING)) RETURN r(INT)"],
});

function refusal(given: unknown) {
  try {
    registry.startParams(given);
  } catch (error) {
    if (isWorkflowError(error)) return error;
    throw error;
  }
  throw new Error("the params were accepted");
}

describe("the params of a start", () => {
  test("are the given params, and defaults for missing params", () => {
    expect(registry.startParams({ goal: "ship", tags: ["a"] })).toEqual({
      goal: "ship",
      n: 3,
      tags: ["a"],
      opts: {},
      x: 1,
    });
    expect(new Registry({}).startParams(undefined)).toEqual({});
  });

  test("share nothing with the given or declared values", () => {
    const tags = ["a"];
    const first = registry.startParams({ goal: "x", tags });
    expect(first.tags).not.toBe(tags);
    expect(first.opts).not.toBe(registry.startParams({ goal: "x" }).opts);
  });

  test("are refused with one error that names all problems", () => {
    const error = refusal({ n: "3", tags: ["a", 1], zeal: 1, "a b": 2 });
    expect(error).toMatchObject({ code: "PARAMS_INVALID", kind: "failed" });
    expect(error.details).toEqual([
      "goal (STRING) is missing",
      "n must be INT, not a string",
      "tags must be [STRING], not an array",
      "zeal is not declared",
      '"a b" is not declared',
    ]);
    for (const line of error.details ?? []) expect(error.message).toContain(line);
    expect(error.hint).toContain("n (INT)");
  });

  test.each([
    [{ goal: null }, "goal must be STRING, not null"],
    [{ goal: undefined }, "goal (STRING) is missing"],
    [{ goal: "x", n: 1.5 }, "n must be INT, not the number 1.5"],
    [{ goal: "x", opts: [] }, "opts must be OBJECT, not an array"],
    [{ goal: "x", opts: null }, "opts must be OBJECT, not null"],
    [JSON.parse('{"goal":"x","__proto__":{"n":1}}'), "__proto__ is not declared"],
    [["goal"], "params must be an object, not an array"],
    ["goal", "params must be an object, not a string"],
    [null, "params must be an object, not null"],
  ])("%p is refused", (given: unknown, message) => {
    expect(refusal(given).message).toBe(`params: ${message}`);
  });

  test("of an unknown type are not checked", () => {
    expect(registry.startParams({ goal: "x", x: ["any"] }).x).toEqual(["any"]);
  });
});

test("variables start with a copy of their default, or with null", () => {
  const first = registry.initialVariables();
  expect(first).toEqual({ $plan: null, $list: [1], $on: false });
  expect(first.$list).not.toBe(registry.initialVariables().$list);
});

test("paramTypes and varTypes return the types by name", () => {
  expect(registry.paramTypes()).toMatchObject({ goal: "STRING", x: "Money" });
  expect(registry.varTypes()).toEqual({ $plan: "OBJECT", $list: "ARRAY", $on: "BOOL" });
});

test("a param that no expression can read is refused", () => {
  for (const name of ["_item", "_mine", "__proto__", "SYSVAR", "true"]) {
    expect(() => new Registry({ params: [`${name}(STRING)`] })).toThrow(
      `the name ${name} is reserved`,
    );
  }
});

test("an error names a default that a number can't hold", () => {
  for (const text of ["n(INT) = 12345678901234567890", 'o(OBJECT) = {"n": 9223372036854775808}']) {
    expect(() => new Registry({ params: [text] })).toThrow("can't be kept exactly");
  }
});

test("services are read by their signatures", () => {
  expect(registry.services[0]?.name).toBe("Find");
});

test("an invalid declaration is an error that quotes the declaration", () => {
  expect(() => new Registry({ vars: ["$ok(INT)", "plan"] })).toThrow('declaration "plan"');
});

test("an inherited property does not set a param", () => {
  const odd = new Registry({ params: ["toString(Any)"] });
  expect(() => odd.startParams({})).toThrow("toString (Any) is missing");
});
