import { describe, expect, test } from "bun:test";
import { newActivity } from "../../lib/activity.ts";
import type { Card } from "../../lib/thread-log.ts";
import { contentBeside, outputsOf, responseOf, totalOf, usageOf } from "./parts.ts";

const card = (content: string, meta: Record<string, unknown>, told = {}): Card => ({
  key: "card-1",
  step: { number: 1, role: "a", content, meta, timestamp: 0 },
  activity: { ...newActivity("a", 0), ...told },
  beganAt: null,
  version: 0,
});

describe("what a step used", () => {
  test("is added up over its calls", () => {
    const call = { model: "m", latencyMs: 5, usage: { input_tokens: 3, output_tokens: 4 } };
    const usage = usageOf(card("", { cost: 0.5 }, { models: [call, call] }));
    expect(usage).toEqual({
      models: ["m"],
      latencyMs: 10,
      tokens: { input_tokens: 6, output_tokens: 8 },
      cost: 0.5,
    });
    expect(totalOf(usage ?? { models: [], latencyMs: null, tokens: {}, cost: null })).toBe(14);
  });

  test("is told by its meta when a fork brought it along", () => {
    const meta = { usage: { input_tokens: 2, total_tokens: 9 }, model: "m" };
    expect(usageOf(card("", meta))).toMatchObject({ models: ["m"], tokens: { total_tokens: 9 } });
    expect(usageOf(card("", {}))).toBeNull();
  });
});

describe("what a step gave", () => {
  test("is its meta, without what it spent and without the mark of durable code", () => {
    const meta = { ok: true, usage: {}, cost: 1, __durable__: { value: 1 } };
    expect(outputsOf(card("", meta))).toEqual({ ok: true });
  });

  test("is what a step of a document told", () => {
    expect(outputsOf(card("", { phase: "done" }, { outputs: { $a: 1 } }))).toEqual({ $a: 1 });
  });

  test("is what a step of a document wrote, when no event tells of it", () => {
    const variables = [
      { path: ["$list", 0], value: "x", seq: 1 },
      { path: ["$n"], value: 2, seq: 2 },
    ];
    const meta = { phase: "done", variables, runID: "r" };
    expect(outputsOf(card("", meta))).toEqual({ "$list.0": "x", $n: 2 });
  });

  test("is not told twice by an agent's role", () => {
    const outputs = { content: "x", meta: { ok: true } };
    expect(outputsOf(card("x", { ok: true }, { outputs }))).toEqual({ ok: true });
  });
});

describe("the text of a card", () => {
  test("is what the model said, and what the step says beside it when that is something else", () => {
    const same = card("Hello ", {}, { response: "Hello" });
    const other = card("A: $plan set", {}, { response: "{}" });
    expect([responseOf(same), contentBeside(same)]).toEqual(["Hello", null]);
    expect([responseOf(other), contentBeside(other)]).toEqual(["{}", "A: $plan set"]);
    expect(responseOf(card("plain", {}))).toBe("plain");
  });
});
