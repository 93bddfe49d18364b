import { describe, expect, test } from "bun:test";
import { agent, condition, drawn, start, texts } from "./drawn.ts";
import { decide } from "../src/node/node.ts";

const contains = (value: string) => ({ operator: "contains", value });
const equal = (value: string) => ({ operator: "equal", value });

describe("a condition", () => {
  test.each([
    [contains(" WORLD "), "Hello World", true],
    [equal(" hello world "), "Hello World", true],
    [equal("hello"), "Hello World", false],
    [equal("hello"), " hello", false],
    [contains("  "), "Hello", false],
    [equal(""), "", false],
    [{ operator: "matches", value: "hello" }, "HELLO", true],
    [contains('"a":1'), { a: 1 }, true],
    [equal("null"), null, false],
  ])("%j of %j is %p", (one, input, isMatch) => {
    const { handle, log } = decide([one], input);
    expect(handle).toBe(isMatch ? "condition-0" : "false");
    expect(log).toEqual([`Condition 1 (${one.operator} "${one.value}") evaluated as ${isMatch}`]);
  });

  test("is decided by its first match, and later conditions are not tested", () => {
    const { handle, log } = decide([equal("a"), contains("b"), contains("abc")], "abc");
    expect(handle).toBe("condition-1");
    expect(log).toHaveLength(2);
  });

  const nodes = [start("s"), agent("a"), agent("b")];

  test("passes its input on and follows the matching handle, also `true` for the first condition", async () => {
    const links = "s -> if; if -true-> a; if -false-> b";
    const outcome = await drawn([...nodes, condition("if", contains("IN"))], links);
    expect(texts(outcome)).toEqual(["s: in", "if: in", "a: a(in)"]);
    const other = await drawn([...nodes, condition("if", contains("out"))], links);
    expect(texts(other)).toEqual(["s: in", "if: in", "b: b(in)"]);
  });

  test("without a connection for its handle ends the path", async () => {
    const outcome = await drawn(
      [...nodes, condition("if", contains("in"))],
      "s -> if; if -false-> b",
    );
    expect(outcome).toMatchObject({ status: "completed" });
    expect(texts(outcome)).toEqual(["s: in", "if: in"]);
  });

  test.each([
    [{ condition: "in" }, "a"],
    [{ conditions: "none" }, "b"],
    [{ conditions: [{ operator: "contains", value: 5 }, null, { value: null }] }, "b"],
    [null, "b"],
  ])("reads the data %j of an older document", async (data, next) => {
    const old = { id: "if", type: "if", x: 0, y: 0, data };
    const outcome = await drawn([...nodes, old], "s -> if; if -true-> a; if -false-> b");
    expect(outcome.steps.at(-1)?.role).toBe(next);
  });
});
