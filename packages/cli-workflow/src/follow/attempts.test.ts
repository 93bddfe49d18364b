import { expect, test } from "bun:test";
import type { Observed } from "@uncaged/workflow/host";
import {
  begin,
  event,
  liveOf,
  opened,
  pipe,
  screen,
  shown,
  start,
  step,
  textOf,
  type Item,
} from "../../test/observed.ts";

test("four concurrent agents of one role each have their own text, tokens, cost and duration", () => {
  const ids = [0, 1, 2, 3].map((n) => opened(1000 + n));
  const begun = ids.map((id, n) => begin(id, "reader", 1000 + n));
  // Alternates the words of the attempts, as concurrent streams do.
  const tokens = ["The ", "file ", "says "].flatMap((word) =>
    ids.map((id) => event(id, "llm_token", { delta: word })),
  );
  const rest = ids.map((id, n) => event(id, "llm_token", { delta: `${n}.\n` }));
  const calls = ids.map((id, n) =>
    event(id, "llm_usage", {
      call_id: `c${n}`,
      model: "m",
      usage: { input_tokens: 100 * (n + 1) },
      cost_usd: 0.01 * (n + 1),
      state: "open",
    }),
  );
  const live = [start(), ...begun, ...tokens, ...calls];
  expect(liveOf(live, 3000)).toEqual([
    "reader      2.0s  100 tokens, $0.0100  The file says",
    "reader 2    1.9s  200 tokens, $0.0200  The file says",
    "reader 3    1.9s  300 tokens, $0.0300  The file says",
    "reader 4    1.9s  400 tokens, $0.0400  The file says",
  ]);
  const written = textOf([...live, ...rest], screen);
  for (const [n, name] of ["reader", "reader 2", "reader 3", "reader 4"].entries()) {
    expect(written).toContain(`${name}: The file says ${n}.\n`);
  }
  const ended = [2, 0].map((n, at) =>
    step(at + 1, "reader", `answer ${n}`, 5000 + n * 1000, { attempt: ids[n] }),
  );
  expect(textOf([...live, ...rest, ...ended], pipe)).toBe(
    "  1  reader 3      5.9s  300 tokens, $0.0300  answer 2\n" +
      "  2  reader        4.0s  100 tokens, $0.0100  answer 0\n",
  );
});

test("an iteration's number is part of its name", () => {
  const path = [{ in: "Loop_Files", child: "LLM_Read", iteration: 2 }];
  const a = opened(1000);
  const items = [start(), begin(a, "LLM_Read", 1000, { path })];
  expect(liveOf(items, 1500)).toEqual(["LLM_Read [3]    0.5s"]);
  expect(textOf([...items, step(1, "LLM_Read", "text", 2000, { attempt: a })], pipe)).toBe(
    "  1  LLM_Read [3]    1.0s  text\n",
  );
});

test("a running attempt shows its title, and its step shows the role", () => {
  const a = opened(1000);
  const items = [start(), begin(a, "LLM_Read", 1000, { title: "Read the file" })];
  expect(liveOf(items, 1500)).toEqual(["Read the file    0.5s"]);
  expect(textOf([...items, step(1, "LLM_Read", "text", 2000, { attempt: a })], pipe)).toBe(
    "  1  LLM_Read      1.0s  text\n",
  );
});

test("a failed attempt whose error was caught is shown as failed, once", () => {
  const [a, b] = [opened(1000), opened(1001)];
  const failure = { name: "ProviderError", message: "no key" };
  const fails = [
    start(),
    begin(a, "reader"),
    begin(b, "reader"),
    event(b, "attempt_end", { outcome: "failed", error: failure }, 1500),
  ];
  const own = step(1, "reader", "", 1600, { attempt: b, meta: { __durable__: { failure } } });
  expect(textOf([...fails, own], pipe)).toBe("  1  reader 2      0.6s  failed: no key\n");
  const other = step(1, "reader", "text", 2000, { attempt: a });
  expect(textOf([...fails, other], pipe)).toBe(
    "     reader 2 failed  0.5s  no key\n  1  reader        1.0s  text\n",
  );
});

test("a retried try is never shown as failed, even beside other attempts", () => {
  const [a, b] = [opened(1000), opened(1001)];
  const error = { name: "ProviderError", message: "overloaded" };
  const retry = { try: 1, of: 3, delay_ms: 4000 };
  const items = [
    start(),
    begin(a, "writer"),
    begin(b, "reader"),
    event(b, "attempt_end", { outcome: "failed", error, retry }, 1500),
    event(a, "step_print", { value: "still here" }),
    step(1, "reader", "", 1600, {
      attempt: b,
      meta: { __durable__: { failure: error, retry: { try: 1, of: 3, delayMs: 4000, at: 5500 } } },
    }),
  ];
  const text = textOf(items, pipe);
  expect(text).toContain("     reader: try 1 of 3 failed; next in 4 s  0.5s  overloaded\n");
  expect(text).not.toContain("reader failed");
});

test("the failure that ended the thread appears only in its last line", () => {
  const a = opened(1000);
  const items = [
    start(),
    begin(a, "coder"),
    event(a, "attempt_end", { outcome: "failed", error: { name: "Error", message: "no key" } }),
    {
      kind: "end",
      end: { role: "__end__", content: "coder: no key", meta: { returnCode: 1, reason: "failed" } },
      state: { status: "failed", result: { returnCode: 1, summary: "coder: no key" }, error: null },
    } as Item,
  ];
  expect(textOf(items, screen)).toBe("");
});

test("attempts of a killed worker are shown as lost", () => {
  const a = opened(1000);
  const items = [
    begin(a, "coder"),
    event(a, "llm_token", { delta: "Half" }),
    event(null, "worker_start", { pid: 7, steps: 0 }, 9000),
  ];
  const { view, text } = shown(items, screen);
  expect(text).toBe("Half\n     coder was lost with its worker\n");
  expect(view.live(9500)).toEqual(["9.5s since the start"]);
});

test("attempts that run beside a step are still shown after that step", () => {
  const [a, b] = [opened(1000), opened(1000)];
  const items = [
    start(),
    begin(a, "Tool_A"),
    begin(b, "LLM_B"),
    event(a, "tool_start", { name: "Search", input: "tea" }, 1000),
    event(b, "llm_token", { delta: "Dry" }),
    step(1, "LLM_B", "LLM_B: $b set (1 B), 1.0 s", 2000, {
      attempt: b,
      meta: { durationMs: 1000 },
    }),
  ];
  const { view, text } = shown(items, screen);
  expect(text).toBe("     LLM_B: Dry\n  1  LLM_B         1.0s  $b set (1 B)\n");
  expect(view.live(4000)).toEqual(["Tool_A    3.0s  runs Search tea"]);
  const done = event(a, "tool_done", { name: "Search", output: "3 hits" }, 1500);
  expect(view.show({ cursor: "", ...done } as Observed)).toBe(
    "     > Search tea → 3 hits (0.5s)\n",
  );
});

test("an attempt without a name shows the time since the last step", () => {
  const a = opened(2000);
  const items = [start(), step(1, "coder", "x", 2000), begin(a, null, 2000)];
  expect(liveOf([start()], 3500)).toEqual(["2.5s since the start"]);
  expect(liveOf(items, 14_000)).toEqual(["12s since 1 coder"]);
  const call = event(a, "llm_tool_use", { tool_use_id: "1", name: "read", input: { path: "a" } });
  expect(liveOf([...items, call], 14_000)).toEqual(['12s since 1 coder: runs read {"path":"a"}']);
  const paused = { kind: "status", state: { status: "paused", pid: 1 } } as Item;
  expect(liveOf([...items, paused], 14_000)).toEqual(["paused, 12s"]);
});

test("a part of an attempt is shown instead of the attempt while the part runs", () => {
  const [a, b] = [opened(1000), opened(1500)];
  const items = [
    begin(a, "review", 1000),
    begin(b, "expert", 1500, { parent: a, title: "the expert" }),
    event(b, "llm_thinking", { delta: "Hm" }, 1600),
  ];
  expect(liveOf(items, 3500)).toEqual(["the expert    2.0s  thinks"]);
  const words = [...items, event(b, "llm_token", { delta: "Yes" }, 1700)];
  expect(textOf(words, screen)).toBe("     thought for 0.1s: Hm\nYes");
});
