import { expect, test } from "bun:test";
import { EventLines } from "./lines.ts";

const event = (type: string, payload: object, seq: number, attempt = "A") => ({
  ...{ tag: "QK4DX8TM", content: "", timestamp: seq, stepID: "Tool_A", step: 1 },
  ...{ type, payload, seq, attempt },
});

test("the events of a thread are lines, with checkpoints and reruns", () => {
  const lines = new EventLines();
  lines.takeEvent(event("tool_message", { name: "ReadFile", level: "warn", message: "big" }, 2));
  lines.takeEvent(event("var_changed", { name: "$x", oldValue: null, newValue: { a: 1 } }, 3));
  lines.takeStep({ number: 1, role: "Tool_A", content: "", meta: {}, timestamp: 4 });
  const rerun = { for: "rerun", stepID: "Tool_A" };
  lines.takeStep({ number: 2, role: "__input__", content: "again", meta: rerun, timestamp: 6 });
  expect(lines.lines.map(({ type, stepID, text }) => [type, stepID, text])).toEqual([
    ["tool_message", "Tool_A", "ReadFile, warn, big"],
    ["var_changed", "Tool_A", '$x = {"a":1}'],
    ["checkpoint", "Tool_A", "step 1 committed"],
    ["rerun", "Tool_A", "again"],
  ]);
  expect(lines.types.get("checkpoint")).toBe(1);
});

test("the pieces of each attempt's text are one line, until its next event", () => {
  const lines = new EventLines();
  for (const [seq, attempt] of ["A", "B", "A", "B"].entries())
    lines.takeEvent(event("llm_token", { delta: attempt.toLowerCase() }, seq, attempt));
  lines.takeEvent(event("llm_done", {}, 4));
  lines.takeEvent(event("llm_token", { delta: "c" }, 5));
  expect(lines.lines.map(({ type, text }) => `${type} ${text}`.trim())).toEqual([
    "llm_token aa",
    "llm_token bb",
    "llm_done",
    "llm_token c",
  ]);
});

test("the oldest of very many lines are dropped, and counted", () => {
  const lines = new EventLines();
  for (let n = 0; n < 55_005; n += 1) lines.takeEvent(event("step_print", { value: n }, n));
  expect([lines.lines.length, lines.dropped, lines.lines[0]?.text]).toEqual([
    50_005,
    5_000,
    "5000",
  ]);
  expect(lines.types.get("step_print")).toBe(50_005);
});
