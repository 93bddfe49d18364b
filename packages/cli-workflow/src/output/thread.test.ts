import { expect, test } from "bun:test";
import { AttemptLog, type EventRecord, attemptJson } from "@uncaged/workflow/records";
import { attemptIds } from "@uncaged/workflow/interpreter";
import type { Step, ThreadView } from "@uncaged/workflow/host";
import { ledgerOf } from "@uncaged/workflow-agents/ledger";
import { noPaint } from "./style.ts";
import { attemptsText, type ThreadLook, threadText, type WholeThread } from "./thread.ts";

const now = Date.UTC(2026, 4, 6, 12);
const pipe: ThreadLook = {
  paint: noPaint,
  terminal: false,
  columns: Number.POSITIVE_INFINITY,
  full: false,
  now,
};
const screen: ThreadLook = { ...pipe, terminal: true, columns: 40 };

const opened = (at: number): string => attemptIds(() => at)();

const steps: Step[] = [
  { role: "planner", content: "1\n\n3\n4\n5\n6\n", meta: { a: 1 }, timestamp: now - 70_000 },
  { role: "coder", content: "", meta: {}, timestamp: now - 57_500, attempt: opened(now - 60_000) },
];

const view: ThreadView = {
  threadId: "01KQXKW18CT8G75T53R8F4G7YG",
  workflow: "review",
  hash: "C9NMV6V2TQT81",
  status: "completed",
  prompt: "a prompt that is longer than the line of this terminal",
  maxRounds: 10,
  workedMs: 1_000,
  waitedMs: 0,
  createdAt: now - 60_000,
  steps,
  result: { returnCode: 0, summary: "done" },
  forkFrom: { threadId: "01KQXKW18CT8G75T53R8F4G7YH", steps: 1 },
};

function wholeOf(given: ThreadView, events: EventRecord[] = []): WholeThread {
  const saved = given.forkFrom?.steps ?? 0;
  const log = new AttemptLog({ saved });
  for (const event of events) log.event(event);
  for (const [index, step] of given.steps.entries()) log.step(index + 1, step);
  const error = given.status === "failed" ? given.error : null;
  if (error) log.close({ meta: { reason: "failed", error } });
  return { view: given, attempts: log.attempts, ledger: ledgerOf(log.attempts) };
}

const whole = wholeOf(view);

test("a pipe shows a whole thread, each step under its number", () => {
  expect(threadText(whole, pipe)).toBe(
    [
      "thread    01KQXKW18CT8G75T53R8F4G7YG",
      "workflow  review (C9NMV6V2TQT81)",
      "status    completed",
      "prompt    a prompt that is longer than the line of this terminal",
      "rounds    2 of 10",
      "started   2026-05-06T11:59:00.000Z (1m ago)",
      "time      worked 1.0s",
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

test("a waiting thread shows its params and the deadline of its question", () => {
  const question: Step = {
    role: "__wait__",
    content: "Go on?",
    meta: { for: "word", expiresAt: now + 60_000 },
    timestamp: now,
  };
  const { result: _, ...others } = view as ThreadView & { result: unknown };
  const waiting: ThreadView = {
    ...others,
    ...{ status: "waiting", question, pid: null, steps: [question], params: { list: "a b" } },
  };
  const lines = threadText(wholeOf(waiting), pipe).split("\n");
  expect(lines).toContain("status    waiting: for an answer until 2026-05-06T12:01:00.000Z");
  expect(lines).toContain('params    {"list":"a b"}');
  const full = threadText(wholeOf(waiting), { ...pipe, full: true });
  expect(full).toContain('params    {\n            "list": "a b"\n          }');
});

test("each own step shows its usage, and so does the failed step", () => {
  const usage = { input_tokens: 1000, output_tokens: 200 };
  const spent = steps.map((step, index) => {
    return { ...step, meta: { usage, model: `m${index}`, cost: 0.5 } };
  });
  const kept = { role: "coder", usage: { input_tokens: 7 }, model: "m2", cost: 0.25 };
  const error = { name: "ProviderError", step: 3, attempt: opened(4000), kept };
  const failed = { ...view, status: "failed", error, steps: spent } as ThreadView;
  const lines = threadText(wholeOf(failed), pipe).split("\n");
  expect(lines).toContain("  1  planner  kept");
  expect(lines).toContain("  2  coder  2.5s  1,200 tokens, $0.5000");
  expect(lines).toContain("spent     1,207 tokens, $0.7500");
  expect(lines).toContain("lost      7 tokens, $0.2500, in failed or interrupted attempts");
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

test("a thread with one model has no line for the model", () => {
  const meta = { usage: { input_tokens: 5 }, model: "m", cost: 0.5 };
  const spent = steps.map((step) => ({ ...step, meta }));
  const shown = threadText(wholeOf({ ...view, steps: spent, forkFrom: null }), pipe);
  expect(shown).toMatch(/^ROLE .*\nplanner .*\ncoder .*\nall .*\n$/m);
});

test("on a terminal long texts are truncated, with the number of omitted lines", () => {
  const lines = threadText(whole, screen).split("\n");
  expect(lines).toContain("prompt    a prompt that is longer than …");
  expect(lines).toContain("     … 2 more lines (--full)");
  expect(lines).not.toContain("     5");
});

test("in full every step shows its meta", () => {
  const shown = threadText(whole, { ...screen, full: true });
  expect(shown).toContain('     6\n     {\n       "a": 1\n     }\n');
  expect(shown).toContain(view.prompt);
});

let seq = 0;
const event = (
  attempt: string,
  type: string,
  payload: Record<string, unknown>,
  at: number,
): EventRecord => ({ type, stepID: null, payload, seq: (seq += 1), timestamp: at, attempt });

const reader = opened(now - 20_000);
const failed = opened(now - 19_000);
const attempted = wholeOf(
  {
    ...view,
    forkFrom: null,
    steps: [{ role: "reader", content: "a", meta: {}, timestamp: now - 10_000, attempt: reader }],
  },
  [
    event(reader, "attempt_start", { role: "reader" }, now - 20_000),
    event(failed, "attempt_start", { role: "reader" }, now - 19_000),
    event(reader, "llm_thinking", { delta: "Hm" }, now - 18_500),
    event(reader, "llm_tool_use", { tool_use_id: "1", name: "read", input: "x" }, now - 18_000),
    event(reader, "llm_tool_result", { tool_use_id: "1", content: "X" }, now - 17_000),
    event(reader, "llm_token", { delta: "It is X." }, now - 16_000),
    event(
      failed,
      "attempt_end",
      { outcome: "failed", error: { name: "Error", message: "no key" } },
      now - 15_000,
    ),
  ],
);

test("attempts are shown with their turns, even without a step", () => {
  expect(attemptsText(attempted, pipe)).toBe(
    [
      "  -  reader  failed  4.0s",
      "     Error: no key",
      "  1  reader  committed  10s",
      "     thought: Hm",
      "     > read x → X (1.0s)",
      "     It is X.",
      "",
    ].join("\n"),
  );
});

test("calls of an attempt are shown below it", () => {
  const lead = opened(now - 20_000);
  const expert = opened(now - 19_000);
  const called = wholeOf(
    {
      ...view,
      forkFrom: null,
      steps: [{ role: "lead", content: "a", meta: {}, timestamp: now - 10_000, attempt: lead }],
    },
    [
      event(lead, "attempt_start", { role: "lead" }, now - 20_000),
      event(expert, "attempt_start", { role: "expert", parent: lead }, now - 19_000),
      event(expert, "llm_token", { delta: "It is X." }, now - 16_000),
      event(expert, "attempt_end", { outcome: "committed" }, now - 15_000),
    ],
  );
  expect(attemptsText(called, pipe)).toBe(
    "  1  lead  committed  10s\n       -  expert  committed  4.0s\n          It is X.\n",
  );
});

test("an attempt's JSON has its turns, usage and error", () => {
  const [lost, done] = attempted.attempts.map(attemptJson);
  expect(done).toEqual({
    attempt: reader,
    role: "reader",
    path: [],
    step: 1,
    status: "committed",
    startedAt: now - 20_000,
    endedAt: now - 10_000,
    turns: [
      { kind: "thinking", text: "Hm", at: now - 18_500 },
      {
        kind: "tool",
        id: "1",
        name: "read",
        input: "x",
        output: "X",
        status: "done",
        messages: [],
        at: now - 18_000,
        endedAt: now - 17_000,
      },
      { kind: "text", text: "It is X.", at: now - 16_000 },
    ],
    usage: null,
    cost: null,
    retries: [],
    error: null,
  });
  expect(lost).toMatchObject({ step: null, status: "failed", error: { message: "no key" } });
});
