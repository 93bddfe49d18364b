import { expect, test } from "bun:test";
import type { ThreadJson } from "@uncaged/workflow/host";
import { ledgerOf } from "@uncaged/workflow-agents/ledger";
import { noPaint } from "./style.ts";
import { type ThreadLook, threadText } from "./thread.ts";

const now = Date.UTC(2026, 4, 6, 12);
const pipe: ThreadLook = {
  paint: noPaint,
  terminal: false,
  columns: Number.POSITIVE_INFINITY,
  full: false,
  now,
};
const screen: ThreadLook = { ...pipe, terminal: true, columns: 40 };

const view: ThreadJson = {
  threadId: "01KQXKW18CT8G75T53R8F4G7YG",
  workflow: "review",
  hash: "C9NMV6V2TQT81",
  status: "completed",
  prompt: "a prompt that is longer than the line of this terminal",
  maxRounds: 10,
  createdAt: now - 60_000,
  steps: [
    { role: "planner", content: "1\n\n3\n4\n5\n6\n", meta: { a: 1 }, timestamp: now - 70_000 },
    { role: "coder", content: "", meta: {}, timestamp: now - 57_500 },
  ],
  result: { returnCode: 0, summary: "done" },
  forkFrom: { threadId: "01KQXKW18CT8G75T53R8F4G7YH", steps: 1 },
  pid: null,
};

const whole = { view, failure: null, ledger: ledgerOf(view.steps, 1, null) };

test("in a pipe a thread is whole, each step under its number", () => {
  expect(threadText(whole, pipe)).toBe(
    [
      "thread    01KQXKW18CT8G75T53R8F4G7YG",
      "workflow  review (C9NMV6V2TQT81)",
      "status    completed",
      "prompt    a prompt that is longer than the line of this terminal",
      "rounds    2 of 10",
      "started   2026-05-06T11:59:00.000Z (1m ago)",
      "forked    from 01KQXKW18CT8G75T53R8F4G7YH, with 1 step",
      "result    done (return code 0)",
      "",
      "  1  planner  kept",
      "     1",
      "",
      "     3",
      "     4",
      "     5",
      "     6",
      "  2  coder  2.5s",
      "",
    ].join("\n"),
  );
});

test("each own step has what it spent, and so has the failed one", () => {
  const usage = { input_tokens: 1000, output_tokens: 200 };
  const [planner, coder] = view.steps.map((step, index) => {
    return { ...step, meta: { usage, model: `m${index}`, cost: 0.5 } };
  });
  const steps = [planner, coder].filter((step) => step !== undefined);
  const kept = { role: "coder", usage: { input_tokens: 7 }, model: "m2", cost: 0.25 };
  const failure = { name: "LLMError", step: 3, kept };
  const ledger = ledgerOf(steps, 1, { meta: { error: failure } });
  const lines = threadText({ view: { ...view, steps }, failure, ledger }, pipe).split("\n");
  expect(lines).toContain("  1  planner  kept");
  expect(lines).toContain("  2  coder  2.5s  1,200 tokens, $0.5000");
  expect(lines).toContain("spent     1,207 tokens, $0.7500");
  expect(lines).toContain("lost      7 tokens, $0.2500, by what failed or broke off");
  expect(lines.find((line) => line.startsWith("ROLE"))).toStartWith("ROLE, MODEL  ");
  expect(lines.map((line) => line.split(/,? /)[0]).slice(-8)).toEqual([
    "ROLE",
    "coder",
    "m1",
    "m2",
    "all",
    "of",
    "saved",
    "",
  ]);
});

test("a thread of one model names it in no line of its own", () => {
  const meta = { usage: { input_tokens: 5 }, model: "m", cost: 0.5 };
  const steps = view.steps.map((step) => ({ ...step, meta }));
  const ledger = ledgerOf(steps);
  const shown = threadText(
    { view: { ...view, steps, forkFrom: null }, failure: null, ledger },
    pipe,
  );
  expect(shown).toMatch(/^ROLE .*\nplanner .*\ncoder .*\nall .*\n$/m);
});

test("on a terminal long texts are truncated, with the number of lines that are left out", () => {
  const lines = threadText(whole, screen).split("\n");
  expect(lines).toContain("prompt    a prompt that is longer than …");
  expect(lines).toContain("     … 2 more lines (--full)");
  expect(lines).not.toContain("     5");
});

test("in full every step has its meta", () => {
  const shown = threadText(whole, { ...screen, full: true });
  expect(shown).toContain('     6\n     {\n       "a": 1\n     }\n');
  expect(shown).toContain(view.prompt);
});
