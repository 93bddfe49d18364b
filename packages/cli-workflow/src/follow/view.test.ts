import { expect, test } from "bun:test";
import type { Observed } from "@uncaged/workflow/host";
import {
  begin,
  event,
  narrow,
  opened,
  pipe,
  screen,
  shown,
  start,
  step,
  textOf,
} from "../../test/observed.ts";

test("a step is one line: its number, role, duration and first line", () => {
  const items = [
    start(),
    step(1, "planner", "\nPlan: a\nmore", 1500, { attempt: opened(1000) }),
    step(2, "coder", "done", 66_500, { attempt: opened(1500) }),
  ];
  expect(textOf(items, pipe)).toBe(
    "  1  planner       0.5s  Plan: a\n  2  coder       1m 05s  done\n",
  );
});

test("the time between two attempts belongs to neither", () => {
  const items = [
    start(),
    step(1, "planner", "a", 1500, { attempt: opened(1000) }),
    step(2, "coder", "b", 60_000, { attempt: opened(58_000) }),
  ];
  expect(textOf(items, pipe)).toContain("  2  coder         2.0s  b\n");
});

test("a step of an older log, without an attempt, has no duration", () => {
  expect(textOf([start(), step(1, "planner", "a", 1500)], pipe)).toBe(
    "  1  planner             a\n",
  );
});

test("a step is truncated to the terminal's width", () => {
  const text = textOf([step(1, "planner", "word ".repeat(30), 1000)], narrow);
  expect(Bun.stringWidth(text.trimEnd())).toBe(40);
  expect(text).toEndWith("…\n");
});

test("a step copied by a fork has no duration and no cost", () => {
  const meta = { usage: { input_tokens: 5 }, cost: 1, model: "m" };
  const items = [
    start(1),
    step(1, "planner", "a", 10, { meta, attempt: opened(5) }),
    step(2, "coder", "b", 1200, { attempt: opened(1000) }),
  ];
  expect(textOf(items, pipe)).toBe("  1  planner       kept  a\n  2  coder         0.2s  b\n");
});

test("a failure copied by a fork is shown as failed", () => {
  const meta = { __durable__: { failure: { name: "Error", message: "answered 503" } } };
  const items = [start(1), step(1, "checker", "answered 503", 10, { meta, attempt: opened(5) })];
  expect(textOf(items, pipe)).toBe("  1  checker       kept  failed: answered 503\n");
});

test("text is shown as it arrives, and the next step begins on a new line", () => {
  const a = opened(1000);
  const items = [
    begin(a, "coder"),
    event(a, "llm_token", { delta: "Hel" }),
    event(a, "llm_token", { delta: "lo" }),
  ];
  const { view, text } = shown(items, screen);
  expect(text).toBe("Hello");
  expect(view.midLine).toBe(true);
  const next = { cursor: "", ...step(1, "coder", "x", 1000, { attempt: a }) } as Observed;
  expect(view.show(next)).toBe("\n  1  coder         0.0s  x\n");
});

test("a pipe shows no events of an attempt", () => {
  const a = opened(1000);
  const items = [
    begin(a, "coder"),
    event(a, "llm_token", { delta: "Hel" }),
    event(a, "tool_start", { name: "read", input: "a" }),
  ];
  expect(textOf(items, pipe)).toBe("");
});

test("a finished tool is one line: its input, its result and its duration", () => {
  const a = opened(1000);
  const items = [
    begin(a, "coder"),
    event(a, "llm_token", { delta: "I look" }),
    event(a, "tool_start", { name: "read", input: { path: "a.ts" } }, 1100),
    event(a, "tool_done", { name: "read", output: "12\nlines" }, 2600),
  ];
  expect(textOf(items, screen)).toBe('I look\n     > read {"path":"a.ts"} → 12 lines (1.5s)\n');
});

test("a tool that a model calls is shown once, by its call, even beside other tools", () => {
  const a = opened(1000);
  const items = [
    begin(a, "coder"),
    event(a, "llm_tool_use", { tool_use_id: "1", name: "read", input: { path: "a" } }),
    event(a, "llm_tool_use", { tool_use_id: "2", name: "read", input: { path: "b" } }),
    event(a, "tool_start", { name: "read", input: "a" }),
    event(a, "tool_start", { name: "read", input: "b" }),
    event(a, "tool_done", { name: "read", output: "B" }),
    event(a, "tool_error", { name: "read", error: "no such file" }),
    event(a, "llm_tool_result", { tool_use_id: "2", content: "B", is_error: false }),
    event(a, "llm_tool_result", { tool_use_id: "1", content: "no such file", is_error: true }),
  ];
  expect(textOf(items, screen)).toBe(
    '     > read {"path":"b"} → B (0.0s)\n     > read {"path":"a"} → failed: no such file (0.0s)\n',
  );
});

test("a tool that never answered is shown when its attempt ends", () => {
  const a = opened(1000);
  const items = [
    begin(a, "coder"),
    event(a, "tool_start", { name: "wait", input: "" }),
    step(1, "coder", "x", 1000, { attempt: a }),
  ];
  expect(textOf(items, screen)).toBe("     > wait\n  1  coder         0.0s  x\n");
});

test("thinking is one line when it ends", () => {
  const a = opened(1000);
  const items = [
    begin(a, "coder"),
    event(a, "llm_thinking", { delta: "Let me\n" }, 1000),
    event(a, "llm_thinking", { delta: "see." }, 2000),
    event(a, "llm_token", { delta: "Yes." }, 3500),
  ];
  expect(textOf(items, narrow)).toBe("     thought for 2.5s: Let me see.\nYes.");
});

test("a retry of a model's call is one line", () => {
  const a = opened(1000);
  const retry = { attempt_number: 2, delay_ms: 1500, error: "overloaded" };
  expect(textOf([begin(a, "coder"), event(a, "llm_retry", retry)], screen)).toBe(
    "     try 2 failed; next in 1.5 s: overloaded\n",
  );
});

test("a long value of an event is shown by its preview", () => {
  const a = opened(1000);
  const input = { _truncated: true, type: "object", length: 20_000, preview: '{"path":"a…' };
  const items = [
    begin(a, "coder"),
    event(a, "llm_tool_use", { tool_use_id: "1", name: "write", input }),
    event(a, "llm_tool_result", { tool_use_id: "1", content: "ok" }),
  ];
  expect(textOf(items, screen)).toContain('> write {"path":"a… → ok');
});

test("a step shows the usage in its own record, or else in its attempt's events", () => {
  const [a, b] = [opened(1000), opened(1500)];
  const usage = { input_tokens: 1200, output_tokens: 34 };
  const items = [
    start(),
    event(a, "llm_done", { usage: { input_tokens: 9 } }),
    step(1, "planner", "Plan", 1500, { attempt: a, meta: { usage, model: "m", cost: 0.0125 } }),
    event(b, "llm_done", { usage: { input_tokens: 10 }, cost_usd: 0.5 }),
    step(2, "coder", "x", 2500, { attempt: b }),
  ];
  expect(textOf(items, pipe)).toBe(
    "  1  planner       0.5s  1,234 tokens, $0.0125  Plan\n" +
      "  2  coder         1.0s  10 tokens, $0.5000  x\n",
  );
});

test("an unknown price is shown", () => {
  const meta = { usage: { input_tokens: 5 }, cost: null, model: "house" };
  expect(textOf([step(1, "planner", "a", 1000, { meta })], pipe)).toContain(
    "5 tokens, a price is not known",
  );
});

test("events without an attempt and malformed events are ignored", () => {
  const a = opened(1000);
  const items = [
    event(null, "llm_token", { delta: "of an older log" }),
    event(a, "llm_done", "nonsense"),
    event(a, "llm_done", { usage: [] }),
    event(a, "x", null),
  ];
  expect(textOf(items, screen)).toBe("");
});

test("each report of a step workflow is one line", () => {
  const a = opened(1000);
  const items = [
    event(a, "step_skipped", { condition: "=$n > 3" }, 1000, "LLM_More"),
    event(a, "tool_message", { name: "Search", level: "info", message: "3 hits" }),
    event(a, "tool_message", { name: "Search", level: "warn", message: "slow" }),
    event(a, "file_done", { path: "out/notes.md", size_bytes: 1500 }, 1000, "Write_Notes"),
    event(a, "step_print", { value: { all: "good" } }),
    event(null, "pause_rejected", { reason: "the answer's token does not match pause" }),
    event(a, "pause_timeout", { nodeId: "Pause_Ask", timeoutAction: "Stop_Late" }, 0, "Pause_Ask"),
    event(a, "var_changed", { name: "$n", oldValue: 1, newValue: 2 }),
  ];
  expect(
    textOf(items, screen)
      .split("\n")
      .map((line) => line.trim()),
  ).toEqual([
    "skipped LLM_More: =$n > 3",
    "Search: 3 hits",
    "Search: warn: slow",
    "wrote out/notes.md (1.5 kB)",
    '{"all":"good"}',
    "an answer was refused: the answer's token does not match pause",
    "no answer to Pause_Ask in time: Stop_Late",
    "",
  ]);
});

test("a missing answer is shown", () => {
  const items = [step(1, "__input__", "", 1000, { meta: { timedOut: true } })];
  expect(textOf(items, pipe)).toBe("  1  __input__           no answer in time\n");
});

test("a pipe shows the workflow's own output too", () => {
  expect(textOf([event(null, "step_print", { value: "half way" })], pipe)).toBe("     half way\n");
});

test("the column of roles is as wide as the widest role so far", () => {
  const items = [
    step(1, "LLM_Summarize", "a", 1000, { attempt: opened(1000) }),
    step(2, "Set_A", "b", 1000, { attempt: opened(1000) }),
  ];
  expect(textOf(items, pipe)).toBe(
    "  1  LLM_Summarize    0.0s  a\n  2  Set_A            0.0s  b\n",
  );
});

test("control sequences are printed as text and do not affect the terminal", () => {
  const a = opened(1000);
  const items = [
    begin(a, "evil\u001b[2J"),
    event(a, "llm_token", { delta: "\u001b[1A" }),
    step(1, "evil\u001b[2J", "\u001b]0;title\u0007", 1000, { attempt: a }),
  ];
  expect(textOf(items, screen)).not.toContain("\u001b");
});
