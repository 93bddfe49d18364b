import { beforeEach, expect, test } from "bun:test";
import { ThreadLog } from "../../lib/thread-log.ts";
import { type TraceRow, traceRows } from "./rows.ts";

let log: ThreadLog;
let now: number;
let seq: number;

beforeEach(() => {
  log = new ThreadLog();
  now = 0;
  seq = 0;
  const thread = { threadId: "01", workflow: "w", hash: "h", prompt: "", maxRounds: 99 };
  log.takeStart({ ...thread, createdAt: 0, forkFrom: null });
  log.status = "running";
});

const event = (attempt: string | null, type: string, payload: object = {}) => {
  now += 10;
  seq += 1;
  const line = { tag: "EVENT000", content: "", timestamp: now, type, stepID: null, payload, seq };
  log.takeEvent(Object.assign(line, attempt !== null && { attempt }));
};

const begin = (attempt: string, role: string, more: object = {}, type?: string) => {
  event(attempt, "attempt_start", { role, ...more });
  if (type !== undefined) event(attempt, "step_start", { type });
};

const step = (attempt: string, role: string, meta = {}) => {
  now += 10;
  const number = log.steps.length + 1;
  log.takeStep({ number, role, content: "", meta, timestamp: now, attempt });
};

const shown = (wanted: (row: TraceRow) => unknown[] = ({ kind, status }) => [kind, status]) =>
  traceRows(log).map((row) => [`${"  ".repeat(row.depth)}${row.name}`, ...wanted(row)].join(" "));

const loopPath = (iteration: number, child = "LLM_Ask") => [{ in: "Loop_All", child, iteration }];

test("a loop has its iterations, and each iteration has its steps, also when iterations overlap", () => {
  begin("L", "Loop_All", {}, "Loop");
  for (const index of [0, 1])
    begin(`A${index}`, "LLM_Ask", { path: loopPath(index), parent: "L" }, "LLM");
  const before = shown(() => []);
  step("A1", "LLM_Ask");
  begin("B1", "Set_Seen", { path: loopPath(1), parent: "L" }, "Set");
  expect(shown()).toEqual([
    "Loop_All loop running",
    "  Iteration 1 iteration running",
    "    LLM_Ask attempt running",
    "  Iteration 2 iteration running",
    "    LLM_Ask attempt done",
    "    Set_Seen attempt running",
  ]);
  step("B1", "Set_Seen");
  step("A0", "LLM_Ask");
  step("L", "Loop_All");
  expect(shown(() => []).filter((name) => !name.includes("Seen"))).toEqual(before);
  expect(traceRows(log).every(({ status }) => status === "done")).toBe(true);
});

test("a fork has a row for each of its chains; a chain of one step is that step", () => {
  const at = (child: string) => ({ path: [{ in: "Fork_Both", child }], parent: "F" });
  begin("F", "Fork_Both", {}, "Noop");
  begin("A", "LLM_A", at("LLM_A"), "LLM");
  begin("B", "LLM_B", at("LLM_B"), "LLM");
  step("A", "LLM_A");
  begin("C", "LLM_C", at("LLM_A"), "LLM");
  expect(shown(({ kind }) => [kind])).toEqual([
    "Fork_Both branch",
    "  LLM_A branch",
    "    LLM_A attempt",
    "    LLM_C attempt",
    "  LLM_B attempt",
  ]);
});

test("the members of each step.all are together, and a retry stays with them", () => {
  const at = (child: string, iteration = 0) => ({ path: [{ in: "step.all", child, iteration }] });
  begin("A0", "read", at("read"));
  begin("B0", "read", at("read", 1));
  const retry = { try: 1, of: 2, at: now + 5, delayMs: 5 };
  const failure = { name: "E", message: "no\nmore" };
  step("A0", "read", { __durable__: { member: 0, retry, failure } });
  step("B0", "read", { __durable__: { member: 1 } });
  begin("A1", "read", { ...at("read"), after: { attempt: "A0", delay_ms: 5 } });
  step("A1", "read", { __durable__: { member: 0 } });
  begin("A2", "read", at("read"));
  expect(shown()).toEqual([
    "step.all branch done",
    "  read attempt failed",
    "  read #2 attempt done",
    "  no retry done",
    "  read attempt done",
    "step.all branch running",
    "  read attempt running",
  ]);
});

test("the turns, calls and waits of an agent are in the order of time, with its own agents", () => {
  begin("A", "lead");
  event("A", "llm_thinking", { delta: "\n\nLet me see.\nHm" });
  event("A", "llm_retry", { attempt_number: 1, delay_ms: 400, error: "overloaded" });
  event("A", "llm_tool_use", { tool_use_id: "t", name: "subagent_reader_reader", input: {} });
  begin("S", "reader", { parent: "A", path: [{ in: "lead", child: "reader" }] });
  event("S", "llm_token", { delta: "Yes" });
  event("S", "attempt_end", { outcome: "committed" });
  event("A", "llm_tool_result", { tool_use_id: "t", content: "Yes" });
  event("A", "llm_wait", { delay_ms: 50, reason: "rate limit" });
  event("A", "llm_token", { delta: "It is" });
  expect(
    shown(({ kind, status, startedAt, endedAt }) => [kind, status, startedAt, endedAt]),
  ).toEqual([
    "lead attempt running 10 ",
    "  Let me see. thinking done 20 40",
    "  overloaded retry done 30 430",
    "  subagent_reader_reader tool done 40 80",
    "    reader attempt done 50 70",
    "      Yes text done 60 70",
    "  rate limit wait done 90 140",
    "  It is text running 100 ",
  ]);
});

test("a question lasts until its answer, and is in the attempt that asks it", () => {
  begin("A", "deploy");
  step("Q", "__wait__", { stepQuestion: "k", attempt: "A" });
  log.status = "waiting";
  expect(shown(({ kind, status, endedAt }) => [kind, status, endedAt])).toEqual([
    "deploy attempt parked 10",
    "  Question question waiting ",
  ]);
  step("I", "__input__");
  log.status = "running";
  step("A", "deploy");
  expect(
    shown(({ kind, status, startedAt, endedAt }) => [kind, status, startedAt, endedAt]),
  ).toEqual([
    "deploy attempt done 10 40",
    "  Question question done 20 30",
    "Answer answer done  30",
  ]);
});

test("the time without an attempt is a pause, or a time without a worker", () => {
  begin("A", "first");
  step("A", "first");
  now += 60_000;
  begin("B", "second");
  step("B", "second");
  now += 5_000;
  event(null, "worker_start", { pid: 1, steps: 2 });
  begin("C", "third");
  step("C", "third");
  log.status = "paused";
  expect(
    shown(({ kind, status, startedAt, endedAt }) => [kind, status, startedAt, endedAt]),
  ).toEqual([
    "first attempt done 10 20",
    "Paused pause done 20 60030",
    "second attempt done 60030 60040",
    "No worker pause done 60040 65060",
    "third attempt done 65060 65070",
    "Paused pause waiting 65070 ",
  ]);
});

test("the delay of a retry is not a pause", () => {
  begin("A", "flaky");
  event("A", "attempt_end", { outcome: "failed", error: { name: "E", message: "no" } });
  step("A", "flaky", { __durable__: { retry: { try: 1, of: 2, at: now, delayMs: 5_000 } } });
  now += 5_000;
  begin("B", "flaky", { after: { attempt: "A", delay_ms: 5_000 } });
  step("B", "flaky");
  expect(shown()).toEqual(["flaky attempt failed", "no retry done", "flaky attempt done"]);
});

test("the attempt at which a thread fails has the number of its step", () => {
  begin("A", "first");
  step("A", "first");
  begin("B", "second");
  event("B", "attempt_end", { outcome: "failed", error: { name: "Error", message: "no" } });
  expect(shown(({ failedAt }) => [failedAt])).toEqual(["first ", "second "]);
  log.takeEnd({ status: "failed", result: { returnCode: 1, summary: "no" } });
  expect(shown(({ number, failedAt }) => [number, failedAt])).toEqual(["first 1 ", "second  2"]);
});

test("an attempt without a worker is lost", () => {
  begin("A", "first");
  log.status = "interrupted";
  expect(shown()[0]).toBe("first attempt lost");
});

test("a loop shows the spending of this thread, and no amount twice", () => {
  begin("L", "Loop_All", {}, "Loop");
  for (const index of [0, 1]) {
    begin(`A${index}`, "LLM_Ask", { path: loopPath(index), parent: "L" });
    const usage = { input_tokens: 10, output_tokens: 1 };
    step(`A${index}`, "LLM_Ask", { usage, cost: 0.5, model: "m" });
  }
  expect(shown(({ tokens, cost }) => [tokens, cost])).toEqual([
    "Loop_All 22 1",
    "  Iteration 1 11 0.5",
    "    LLM_Ask 11 0.5",
    "  Iteration 2 11 0.5",
    "    LLM_Ask 11 0.5",
  ]);
});

test("an attempt that contains itself in a foreign log has one row", () => {
  begin("A", "a", { parent: "B" });
  begin("B", "b", { parent: "A" });
  begin("C", "c", { parent: "C" });
  expect(shown(() => [])).toEqual(["a", "b", "c"]);
});

test("the steps of an older log are rows without a start", () => {
  log.takeStep({ number: 1, role: "coder", content: "", meta: {}, timestamp: 5 });
  log.takeStep({ number: 2, role: "tester", content: "", meta: {}, timestamp: 5 });
  expect(shown(({ number, startedAt, endedAt }) => [number, startedAt, endedAt])).toEqual([
    "coder 1  5",
    "tester 2  5",
  ]);
});
