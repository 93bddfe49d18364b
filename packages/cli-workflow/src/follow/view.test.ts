import { expect, test } from "bun:test";
import type { FollowItem } from "@uncaged/workflow/host";
import { noPaint } from "../output/colour.ts";
import { beginView, type Look, showItem, spentText, type View, waitLine } from "./view.ts";

const pipe: Look = { paint: noPaint, terminal: false, columns: Number.POSITIVE_INFINITY };
const screen: Look = { paint: noPaint, terminal: true, columns: 40 };

const step = (number: number, role: string, content: string, timestamp: number): FollowItem => ({
  kind: "step",
  number,
  step: { role, content, meta: {}, timestamp },
});

const event = (type: string, payload: unknown): FollowItem => ({
  kind: "event",
  event: { tag: "QK4DX8TM", content: type, timestamp: 0, type, stepID: null, payload, seq: 1 },
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
  expect(view.midLine).toBe(true);
  expect(showItem(view, step(1, "coder", "x", 1000), screen).text).toBe(
    "\n  1  coder         0.0s  x\n",
  );
});

test("in a pipe what happens inside a step is left out", () => {
  const items = [event("llm_token", { delta: "Hel" }), event("tool_start", { name: "read" })];
  expect(showAll(items, pipe).text).toBe("");
});

test("a tool is shown by its name and what it was given", () => {
  const items = [
    event("llm_token", { delta: "I look" }),
    event("tool_start", { name: "read", input: { path: "a.ts" } }),
  ];
  expect(showAll(items, screen).text).toBe('I look\n     > read {"path":"a.ts"}\n');
});

test("tokens and cost are counted where events tell of them", () => {
  const { view } = showAll(
    [
      event("llm_done", { usage: { input_tokens: 1200, output_tokens: 34 }, cost_usd: 0.0125 }),
      event("llm_done", { usage: { total_tokens: 10 } }),
      event("llm_done", "nonsense"),
    ],
    pipe,
  );
  expect(spentText(view)).toBe("1,244 tokens, $0.0125");
  expect(spentText(beginView(0, 0))).toBe("");
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
