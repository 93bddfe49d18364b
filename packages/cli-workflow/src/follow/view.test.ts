import { expect, test } from "bun:test";
import type { FollowItem } from "@uncaged/workflow/host";
import { type Look, noPaint } from "../output/style.ts";
import { beginView, showItem, type View, waitLine } from "./view.ts";

const pipe: Look = { paint: noPaint, terminal: false, columns: Number.POSITIVE_INFINITY };
const screen: Look = { paint: noPaint, terminal: true, columns: 40 };

const step = (
  number: number,
  role: string,
  content: string,
  timestamp: number,
  meta: Record<string, unknown> = {},
): FollowItem => ({ kind: "step", number, step: { role, content, meta, timestamp } });

const event = (
  type: string,
  payload: unknown,
  timestamp = 0,
  stepID: string | null = null,
): FollowItem => ({
  kind: "event",
  event: { tag: "QK4DX8TM", content: type, timestamp, type, stepID, payload, seq: 1 },
});

function showAll(items: FollowItem[], look: Look, kept = 0): { view: View; text: string } {
  let view = beginView(1000, kept);
  let all = "";
  for (const item of items) {
    const { view: next, text } = showItem(view, item, look);
    view = next;
    all += text;
  }
  return { view, text: all };
}

test("a step is one line: its number, role, time since the one before, first line", () => {
  const { text } = showAll(
    [step(1, "planner", "\nPlan: a\nmore", 1500), step(2, "coder", "done", 66_500)],
    pipe,
  );
  expect(text).toBe("  1  planner       0.5s  Plan: a\n  2  coder       1m 05s  done\n");
});

test("a step is cut to the width of a terminal", () => {
  const { text } = showAll([step(1, "planner", "word ".repeat(30), 1000)], screen);
  expect(Bun.stringWidth(text.trimEnd())).toBe(40);
  expect(text).toEndWith("…\n");
});

test("a step that a fork brought along has no time of its own", () => {
  const { text } = showAll([step(1, "planner", "a", 10), step(2, "coder", "b", 1200)], pipe, 1);
  expect(text).toBe("  1  planner       kept  a\n  2  coder         0.2s  b\n");
});

test("tokens are shown as they come, and the next step begins a line of its own", () => {
  const { view, text } = showAll(
    [event("llm_token", { delta: "Hel" }), event("llm_token", { delta: "lo" })],
    screen,
  );
  expect(text).toBe("Hello");
  expect(view.inside.midLine).toBe(true);
  expect(showItem(view, step(1, "coder", "x", 1000), screen).text).toBe(
    "\n  1  coder         0.0s  x\n",
  );
});

test("in a pipe what happens inside a step is left out", () => {
  const items = [event("llm_token", { delta: "Hel" }), event("tool_start", { name: "read" })];
  expect(showAll(items, pipe).text).toBe("");
});

test("a tool is one line when it is done: what it was given, what came of it, how long", () => {
  const { text } = showAll(
    [
      event("llm_token", { delta: "I look" }),
      event("tool_start", { name: "read", input: { path: "a.ts" } }, 100),
      event("tool_done", { name: "read", outputSummary: "12\nlines" }, 1600),
    ],
    { ...screen, columns: 80 },
  );
  expect(text).toBe('I look\n     > read {"path":"a.ts"} → 12 lines (1.5s)\n');
});

test("a tool that a model calls is shown once, by its call, also beside others", () => {
  const { text } = showAll(
    [
      event("llm_tool_use", { tool_use_id: "1", name: "read", input: { path: "a" } }),
      event("llm_tool_use", { tool_use_id: "2", name: "read", input: { path: "b" } }),
      event("tool_start", { name: "read", inputSummary: "a" }),
      event("tool_start", { name: "read", inputSummary: "b" }),
      event("tool_done", { name: "read", outputSummary: "B" }),
      event("tool_error", { name: "read", error: "no such file" }),
      event("llm_tool_result", { tool_use_id: "2", content: "B", is_error: false }),
      event("llm_tool_result", { tool_use_id: "1", content: "no such file", is_error: true }),
    ],
    { ...screen, columns: 80 },
  );
  expect(text).toBe(
    '     > read {"path":"b"} → B (0.0s)\n     > read {"path":"a"} → failed: no such file (0.0s)\n',
  );
});

test("a tool that never answered is shown when its step is over", () => {
  const items = [event("tool_start", { name: "wait" }), step(1, "coder", "x", 1000)];
  expect(showAll(items, screen).text).toBe("     > wait\n  1  coder         0.0s  x\n");
});

test("thinking is one line when it is over", () => {
  const { text, view } = showAll(
    [
      event("llm_thinking", { delta: "Let me\n" }, 1000),
      event("llm_thinking", { delta: "see." }, 2000),
      event("llm_token", { delta: "Yes." }, 3500),
    ],
    screen,
  );
  expect(text).toBe("     thought for 2.5s: Let me see.\nYes.");
  const more = showItem(view, event("llm_thinking", { delta: "Hm" }), screen);
  expect(more.text).toBe("");
  const { text: end } = showItem(more.view, step(1, "coder", "Yes.", 4000), screen);
  expect(end).toBe("\n     thought: Hm\n  1  coder         3.0s  Yes.\n");
});

test("an error is told once, though its step fails by it", () => {
  const items = [
    event("llm_error", { error: "no\nkey" }),
    event("step_error", { error: "no key" }),
  ];
  expect(showAll(items, screen).text).toBe("     error: no key\n");
});

test("a long value of an event is shown by its preview", () => {
  const input = { _truncated: true, type: "object", length: 20_000, preview: '{"path":"a…' };
  const items = [
    event("llm_tool_use", { tool_use_id: "1", name: "write", input }),
    event("llm_tool_result", { tool_use_id: "1", content: "ok" }),
  ];
  expect(showAll(items, { ...screen, columns: 80 }).text).toContain('> write {"path":"a… → ok');
});

test("a step's line has what it spent, by its calls when it doesn't say so itself", () => {
  const usage = { input_tokens: 1200, output_tokens: 34 };
  const { text } = showAll(
    [
      event("llm_usage", { usage }),
      event("llm_done", { usage: { input_tokens: 1234 } }),
      step(1, "planner", "Plan", 1500, { usage, model: "m", cost: 0.0125 }),
      event("llm_usage", { usage }),
      event("llm_done", { usage: { input_tokens: 10 }, cost_usd: 0.5 }),
      step(2, "coder", "x", 2500),
    ],
    pipe,
  );
  expect(text).toBe(
    "  1  planner       0.5s  1,234 tokens, $0.0125  Plan\n  2  coder         1.0s  10 tokens, $0.5000  x\n",
  );
});

test("a step that a fork brought along has cost this thread nothing", () => {
  const spent = { usage: { input_tokens: 5 }, cost: 1, model: "m" };
  const { text } = showAll([step(1, "planner", "a", 10, spent)], pipe, 1);
  expect(text).toBe("  1  planner       kept  a\n");
});

test("a price that is not known is told", () => {
  const spent = { usage: { input_tokens: 5 }, cost: null, model: "house" };
  expect(showAll([step(1, "planner", "a", 1000, spent)], pipe).text).toContain(
    "5 tokens, a price is not known",
  );
});

test("events that are nonsense are passed over", () => {
  const items = [event("llm_done", "nonsense"), event("llm_done", { usage: [] }), event("x", null)];
  expect(showAll(items, screen).text).toBe("");
});

test("what a step workflow tells is one line each", () => {
  const { text } = showAll(
    [
      event("step_skipped", { condition: "=$n > 3" }, 0, "LLM_More"),
      event("tool_message", { name: "Search", level: "info", message: "3 hits" }),
      event("tool_message", { name: "Search", level: "warn", message: "slow" }),
      event("file_done", { path: "out/notes.md", size_bytes: 1500 }, 0, "Write_Notes"),
      event("step_print", { value: { all: "good" } }),
      event("pause_rejected", { reason: "the answer's token is not that of pause" }),
      event("pause_timeout", { nodeId: "Pause_Ask", timeoutAction: "Stop_Late" }, 0, "Pause_Ask"),
      event("var_changed", { name: "$n", oldValue: 1, newValue: 2 }),
    ],
    { ...screen, columns: 80 },
  );
  expect(text.split("\n").map((line) => line.trim())).toEqual([
    "skipped LLM_More: =$n > 3",
    "Search: 3 hits",
    "Search: warn: slow",
    "wrote out/notes.md (1.5 KB)",
    '{"all":"good"}',
    "an answer was refused: the answer's token is not that of pause",
    "nobody answered Pause_Ask in time: on to Stop_Late",
    "",
  ]);
});

test("what goes on beside a step of a step workflow is still shown when that step is done", () => {
  const wide = { ...screen, columns: 80 };
  const start = (id: string, type: string) => event("step_start", { type, meta: null }, 0, id);
  const { text, view } = showAll(
    [
      start("Fork_A", "Noop"),
      start("Tool_A", "Tool"),
      start("LLM_B", "LLM"),
      event("tool_start", { name: "Search", input: "tea" }, 0, "Tool_A"),
      event("llm_token", { delta: "Dry" }, 0, "LLM_B"),
      step(1, "LLM_B", "LLM_B: $b set (1 B), 1.0 s", 1000, { durationMs: 1000 }),
    ],
    wide,
  );
  expect(text).toBe("Dry\n  1  LLM_B         1.0s  $b set (1 B)\n");
  expect(waitLine(view, 3000)).toBe("2.0s since 1 LLM_B: Tool_A runs Search tea");
  const done = event("tool_done", { name: "Search", outputSummary: "3 hits" }, 500, "Tool_A");
  expect(showItem(view, done, wide).text).toBe("     > Search tea → 3 hits (0.5s)\n");
});

test("an answer that nobody gave is told as such", () => {
  const { text } = showAll([step(1, "__input__", "", 1000, { timedOut: true })], pipe);
  expect(text).toBe("  1  __input__     0.0s  nobody answered in time\n");
});

test("a step that failed into its handler works no more", () => {
  const start = (id: string) => event("step_start", { type: "LLM", meta: null }, 0, id);
  const { view } = showAll(
    [start("LLM_A"), start("LLM_B"), event("step_error", { error: "no key" }, 0, "LLM_B")],
    screen,
  );
  expect(waitLine(view, 3000)).toBe("2.0s since the start: LLM_A");
});

test("models that speak at once each have lines of their own", () => {
  const token = (delta: string, id: string) => event("llm_token", { delta }, 0, id);
  const items = [
    token("Tea ", "LLM_A"),
    token("is ", "LLM_A"),
    token("Dry", "LLM_B"),
    token("!", "LLM_A"),
  ];
  expect(showAll(items, screen).text).toBe("Tea is \n     LLM_B: Dry\n     LLM_A: !");
});

test("what a workflow prints stands in a pipe too", () => {
  expect(showAll([event("step_print", { value: "half way" })], pipe).text).toBe("     half way\n");
});

test("the column of roles is as wide as the widest role so far", () => {
  const items = [step(1, "LLM_Summarize", "a", 1000), step(2, "Set_A", "b", 1000)];
  expect(showAll(items, pipe).text).toBe(
    "  1  LLM_Summarize    0.0s  a\n  2  Set_A            0.0s  b\n",
  );
});

test("the role and the time of a step workflow's step are told once", () => {
  const took = { durationMs: 2500 };
  const { text } = showAll(
    [
      step(1, "Set_A", "Set_A: $a set (1 B), 2.5 s", 9000, took),
      step(2, "Noop_B", "Noop_B: 2.5 s", 9000, took),
      step(3, "coder", "coder: took 2.5 s", 9000),
    ],
    pipe,
  );
  expect(text).toBe(
    "  1  Set_A         2.5s  $a set (1 B)\n  2  Noop_B        2.5s\n  3  coder         0.0s  took 2.5 s\n",
  );
});

test("the line that waits names the step that works, where it has no title", () => {
  const { view } = showAll([event("step_start", { meta: null }, 0, "LLM_A")], screen);
  expect(waitLine(view, 3500)).toBe("2.5s since the start: LLM_A");
});

test("the line that waits tells what is being done", () => {
  const items = [event("step_start", { meta: { title: "coder" } })];
  const started = showAll(items, screen).view;
  expect(waitLine(started, 3500)).toBe("2.5s since the start: coder");
  const thinking = showItem(started, event("llm_thinking", { delta: "Hm" }), screen).view;
  expect(waitLine(thinking, 3500)).toBe("2.5s since the start: coder thinks");
  const call = event("llm_tool_use", { tool_use_id: "1", name: "read", input: { path: "a" } });
  const { view } = showItem(thinking, call, screen);
  expect(waitLine(view, 3500)).toBe('2.5s since the start: coder runs read {"path":"a"}');
});

test("the line that waits tells the time and the last step", () => {
  const { view } = showAll([step(3, "coder", "x", 2000)], pipe);
  expect(waitLine(beginView(1000, 0), 3500)).toBe("2.5s since the start");
  expect(waitLine(view, 14_000)).toBe("12s since 3 coder");
  const paused = showItem(view, { kind: "status", status: "paused" }, pipe).view;
  expect(waitLine(paused, 14_000)).toBe("paused, 12s");
});

test("what would steer the terminal is shown and not obeyed", () => {
  const { text } = showAll([step(1, "evil\u001b[2J", "\u001b]0;title\u0007", 1000)], pipe);
  expect(text).not.toContain("\u001b");
});
