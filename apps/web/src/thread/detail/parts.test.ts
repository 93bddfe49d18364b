import { describe, expect, test } from "bun:test";
import { ThreadLog } from "../../lib/thread-log.ts";
import { contentOf, groupsOf, notesOf, outputsOf, spendingOf } from "./parts.ts";

type Event = [type: string, payload: object];

function cardOf(content: string, meta: Record<string, unknown>, ...events: Event[]) {
  const log = new ThreadLog();
  for (const [seq, [type, payload]] of events.entries()) {
    const line = { tag: "EVENT000", content: "", timestamp: 1, stepID: "a", type, payload };
    log.takeEvent(Object.assign(line, { seq, attempt: "A" }));
  }
  log.takeStep(
    Object.assign({ number: 1, role: "a", content, meta, timestamp: 2 }, { attempt: "A" }),
  );
  const [card] = log.cards;
  if (!card) throw new Error("there is no card");
  return card;
}

describe("the spending of an attempt", () => {
  test("is the sum over its calls", () => {
    const call = { model: "m", latency_ms: 5, usage: { input_tokens: 3, output_tokens: 4 } };
    const card = cardOf("", {}, ["llm_done", call], ["llm_done", { ...call, cost_usd: 1 }]);
    expect(spendingOf(card)).toMatchObject({ models: ["m"], latencyMs: 10, total: 14, cost: null });
  });

  test("comes from its step in older logs", () => {
    const meta = { usage: { input_tokens: 2, output_tokens: 7 }, model: "m", cost: 0.5 };
    expect(spendingOf(cardOf("", meta))).toMatchObject({ models: ["m"], total: 9, cost: 0.5 });
    expect(spendingOf(cardOf("", {}))).toBeNull();
  });
});

describe("the outputs of a step", () => {
  test("are its meta, without its spending and without the mark of durable code", () => {
    const meta = { ok: true, usage: {}, cost: 1, __durable__: { value: 1 } };
    expect(outputsOf(cardOf("", meta))).toEqual({ ok: true });
  });

  test("are the published outputs of a document's step, else its written variables", () => {
    const done: Event = ["step_done", { outputs: { $a: 1 } }];
    expect(outputsOf(cardOf("", { phase: "done" }, done))).toEqual({ $a: 1 });
    const variables = [
      { path: ["$list", 0], value: "x", seq: 1 },
      { path: ["$n"], value: 2, seq: 2 },
    ];
    const meta = { phase: "done", variables, runID: "r" };
    expect(outputsOf(cardOf("", meta))).toEqual({ "$list.0": "x", $n: 2 });
  });

  test("are not the content and meta that an agent's role publishes", () => {
    const done: Event = ["step_done", { outputs: { content: "x", meta: { ok: true } } }];
    expect(outputsOf(cardOf("x", { ok: true }, done))).toEqual({ ok: true });
  });
});

describe("the turns of an attempt", () => {
  const use = (id: string): Event => ["llm_tool_use", { tool_use_id: id, name: "read", input: id }];

  test("are in time order, with consecutive tool calls grouped", () => {
    const { attempt } = cardOf(
      "",
      {},
      ["llm_thinking", { delta: "hm" }],
      ["llm_token", { delta: "Let me " }],
      ["llm_token", { delta: "look" }],
      use("1"),
      use("2"),
      ["llm_tool_result", { tool_use_id: "2", content: "gone", is_error: true }],
      ["llm_token", { delta: "Done" }],
    );
    const groups = groupsOf(attempt.turns);
    expect(
      groups.map((group) => (group.kind === "tools" ? group.calls.length : group.text)),
    ).toEqual(["hm", "Let me look", 2, "Done"]);
    const [tools] = groups.flatMap((group) => (group.kind === "tools" ? [group] : []));
    expect(tools?.calls[1]).toMatchObject({ status: "failed", output: "gone" });
  });

  test("of two model calls are two, in every form of their events", () => {
    for (const between of [
      ["llm_done", {}],
      ["llm_start", { call_id: "2", model: "m" }],
    ] as const) {
      const { attempt } = cardOf(
        "",
        {},
        ["llm_token", { delta: "first" }],
        [...between],
        ["llm_token", { delta: "second" }],
      );
      const texts = groupsOf(attempt.turns).map((group) =>
        group.kind === "text" ? group.text : "",
      );
      expect(texts).toEqual(["first", "second"]);
    }
  });
});

test("the content of a step is shown unless its error or its outputs contain it", () => {
  const commit = { phase: "done", variables: [] };
  expect(contentOf(cardOf("$n set", commit), true)).toBeNull();
  expect(contentOf(cardOf("Hello", {}, ["llm_token", { delta: "Hello" }]), false)).toBe("Hello");
  expect(contentOf(cardOf("no", {}, ["step_error", { error: "no" }]), false)).toBeNull();
});

test("a tool that was allowed to fail is marked: its step continued", () => {
  const turnsOf = (allowError: boolean) =>
    cardOf(
      "",
      {},
      ["tool_start", { name: "run", input: {} }],
      ["tool_error", { name: "run", error: "exit 1", allowError }],
    ).attempt.turns;
  expect(turnsOf(true)).toMatchObject([{ status: "failed", continued: true }]);
  expect(turnsOf(false)[0]).not.toHaveProperty("continued");
});

test("retries and all other events are notes", () => {
  const card = cardOf(
    "",
    {},
    ["llm_retry", { attempt_number: 1, delay_ms: 2_000, error: "overloaded" }],
    ["var_changed", { name: "$n", oldValue: null, newValue: { a: 1 } }],
    ["var_changed", { name: "$n", oldValue: { a: 1 }, newValue: 2 }],
    ["file_done", { path: "out/a.txt", size_bytes: 2_048 }],
    ["step_print", { value: "hi" }],
    ["my_event", { at: 1 }],
    ["llm_done", {}],
  );
  expect(notesOf(card).map(({ type, text }) => `${type}: ${text}`)).toEqual([
    "retry: tried again after 2.0 s: overloaded",
    'var_changed: $n = {"a":1}',
    "var_changed: $n = 2",
    "file_done: out/a.txt",
    "step_print: hi",
    'my_event: {"at":1}',
  ]);
});
