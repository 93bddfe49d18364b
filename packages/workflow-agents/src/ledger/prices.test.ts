import { describe, expect, test } from "bun:test";
import { noUsage } from "@uncaged/workflow/interpreter";
import { costOf, mostCostOf, priceOf } from "./prices.ts";

const million = 1_000_000;
const all = {
  input_tokens: 1000,
  output_tokens: 200,
  thinking_tokens: 150,
  cache_read_tokens: 5000,
  cache_write_tokens: 300,
};

describe("a call's cost", () => {
  test("has a price for each kind of token, and thinking costs as much as output", () => {
    expect(costOf("claude-sonnet-5-5", all)).toBe(
      (1000 * 2 + 200 * 10 + 5000 * 0.1 + 300 * 2.5) / million,
    );
  });

  test("uses the model's price for a dated snapshot", () => {
    expect(priceOf("claude-haiku-4-5-20251001")).toEqual(priceOf("claude-haiku-4-5"));
    expect(priceOf("gpt-5-2025-08-07")).toEqual(priceOf("gpt-5"));
  });

  test.each([
    "claude-opus-4-8[1m]",
    "claude-opus-4-8@20260115",
    "us.anthropic.claude-opus-4-8-20260115-v1:0",
    "anthropic/claude-opus-4-8",
    "claude-opus-4-8-latest",
  ])("for %s is the cost for its model", (name) => {
    expect(priceOf(name)).toEqual(priceOf("claude-opus-4-8"));
    const own = { input: 1, output: 2 };
    expect(priceOf(name, { "claude-opus-4-8": own })).toEqual(own);
  });

  test("is null for an unknown model, and never the price of a similar model", () => {
    for (const model of [
      "",
      "gpt-99",
      "claude-opus-9",
      "claude-opus-5-5x",
      "toString",
      "__proto__",
    ]) {
      expect(costOf(model, all)).toBeNull();
    }
  });

  test("is zero for scripted models", () => {
    expect(costOf("scripted", all)).toBe(0);
  });

  test("is null when a required price is unknown", () => {
    const own = { mine: { input: 1, output: 2 } };
    expect(costOf("mine", all, own)).toBeNull();
    const plain = { ...noUsage, input_tokens: million, output_tokens: million };
    expect(costOf("mine", plain, own)).toBe(3);
  });

  test("uses the long price for all tokens of a long call", () => {
    const at = (input_tokens: number) => ({ ...noUsage, input_tokens });
    expect(costOf("gpt-6-sol", at(272_000))).toBe(0.544);
    expect(costOf("gpt-6-sol", at(272_001))).toBe(1.088004);
    const cached = { ...at(1), cache_read_tokens: 100_000 };
    expect(costOf("claude-haiku-5-5", cached)).toBe((0.5 + 100_000 * 0.05) / million);
  });

  test("uses the user's price instead of the list price", () => {
    const own = { "claude-sonnet-5-5": { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 } };
    expect(costOf("claude-sonnet-5-5", all, own)).toBe(0);
  });
});

test("is at most the cost with the whole input written to the cache", () => {
  const most = { ...noUsage, input_tokens: million };
  expect(mostCostOf("claude-opus-5-5", most)).toBe(5);
  expect(mostCostOf("gpt-5", most)).toBe(1.25);
  expect(mostCostOf("nobody", most)).toBeNull();
});
