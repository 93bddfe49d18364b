import { describe, expect, test } from "bun:test";
import { editOf, isChanged, overridesOf, problemOf, switched, valueOf } from "./value-edits.ts";

describe("a value of a step workflow", () => {
  test("is edited as plain text if it is a string, otherwise as JSON", () => {
    expect(editOf("a b")).toEqual({ text: "a b", isText: true });
    expect(editOf({ a: 1 })).toEqual({ text: '{\n  "a": 1\n}', isText: false });
    expect(editOf(null)).toEqual({ text: "null", isText: false });
  });

  test("can be edited in the other form without a change", () => {
    const text = editOf('say "a"');
    const json = switched(text);
    expect(json).toEqual({ text: '"say \\"a\\""', isText: false });
    expect(valueOf(json)).toBe('say "a"');
    expect(switched(json)).toEqual(text);
    expect(switched(editOf([1])).isText).toBe(true);
  });

  test("is refused as invalid JSON; plain text is always valid", () => {
    expect(problemOf({ text: "{", isText: false })).toContain("Invalid JSON");
    expect(problemOf({ text: "{", isText: true })).toBeNull();
    expect(isChanged({}, { text: "{", isText: false })).toBe(true);
  });

  test("is sent only if it has changed", () => {
    const before = { $a: { x: [1] }, $b: "t", $c: null, goal: "g" };
    const edits = {
      $a: { text: '{"x":[1]}', isText: false },
      $b: { text: "", isText: true },
      $c: { text: "0", isText: false },
    };
    expect(overridesOf(before, edits)).toEqual({ $b: "", $c: 0 });
  });
});
