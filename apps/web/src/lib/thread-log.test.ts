import type { NumberedStep } from "@uncaged/workflow-server/api-types";
import { beforeEach, describe, expect, test } from "bun:test";
import { durationOf, roleOf, ThreadLog } from "./thread-log.ts";

let log: ThreadLog;
let now: number;

beforeEach(() => {
  log = new ThreadLog();
  now = 1_000;
  log.takeStart({
    threadId: "01",
    workflow: "w",
    hash: "h",
    prompt: "do it",
    maxRounds: 10,
    createdAt: now,
    forkFrom: null,
  });
});

const event = (type: string, stepID: string | null, payload: object = {}) => {
  now += 10;
  log.takeEvent({ tag: "EVENT000", content: "", timestamp: now, type, stepID, payload });
};

const step = (role: string): NumberedStep => {
  now += 100;
  const made = { number: log.steps.length + 1, role, content: "c", meta: {}, timestamp: now };
  log.takeStep(made);
  return made;
};

const shown = () => log.cards.map((card) => [roleOf(card), card.step?.number ?? null]);

describe("the cards of a thread", () => {
  test("are one a step, which began when the one before was committed", () => {
    step("planner");
    step("coder");
    expect(shown()).toEqual([
      ["planner", 1],
      ["coder", 2],
    ]);
    expect(log.cards.map(durationOf)).toEqual([100, 100]);
  });

  test("of a fork do not take the time that lies between the threads", () => {
    const old = { role: "a", content: "", meta: {} };
    log.takeStep({ ...old, number: 1, timestamp: 100 });
    log.takeStep({ ...old, number: 2, timestamp: 300 });
    log.takeStep({ ...old, number: 3, timestamp: 1_050 });
    expect(log.cards.map(durationOf)).toEqual([null, 200, 50]);
  });

  test("gather what a step told while it ran", () => {
    event("step_start", "coder#1", { type: "Role", meta: { title: "coder" } });
    event("llm_thinking", "coder#1", { delta: "hm" });
    event("llm_token", "coder#1", { delta: "Hel" });
    expect(shown()).toEqual([["coder", null]]);
    event("llm_token", "coder#1", { delta: "lo" });
    event("llm_done", "coder#1", { model: "m", latency_ms: 5, usage: { input_tokens: 3, x: "y" } });
    const before = log.cards[0]?.key;
    step("coder");
    const [card] = log.cards;
    expect(card?.key).toBe(before ?? "");
    expect(card?.activity).toMatchObject({ type: "Role", thinking: "hm", response: "Hello" });
    expect(card?.activity?.models).toEqual([
      { model: "m", latencyMs: 5, usage: { input_tokens: 3 } },
    ]);
  });

  test("are told apart when steps run side by side, in the order of their commits", () => {
    event("step_start", "left");
    event("step_start", "right");
    event("llm_token", "left", { delta: "L" });
    event("llm_token", "right", { delta: "R" });
    step("right");
    expect(shown()).toEqual([
      ["right", 1],
      ["left", null],
    ]);
    step("left");
    expect(log.cards.map(({ activity }) => activity?.response)).toEqual(["R", "L"]);
  });

  test("take in what is told after the commit", () => {
    event("step_start", "LLM_A");
    step("LLM_A");
    event("step_done", "LLM_A", { outputs: { $plan: 1 } });
    expect(log.cards).toHaveLength(1);
    expect(log.cards[0]?.activity?.outputs).toEqual({ $plan: 1 });
  });

  test("begin anew when a step does, and at the next run of a step", () => {
    event("step_start", "coder");
    event("llm_token", "coder", { delta: "lost" });
    event("step_start", "coder");
    event("llm_token", "coder", { delta: "kept" });
    step("coder");
    event("llm_token", "coder", { delta: "second" });
    expect(log.cards.map(({ activity }) => activity?.response)).toEqual(["kept", "second"]);
  });

  test("keep a step that failed where it stood when the thread went on", () => {
    event("step_start", "risky");
    event("step_error", "risky", { error: "no luck" });
    event("step_start", "handler");
    step("handler");
    expect(shown()).toEqual([
      ["risky", null],
      ["handler", 1],
    ]);
    expect(log.open).toEqual([]);
  });

  test("belong to the only step at work when a program names its steps otherwise", () => {
    event("llm_token", "agent", { delta: "x" });
    step("writer");
    expect(log.cards).toHaveLength(1);
    expect(roleOf(log.cards[0] ?? fail())).toBe("writer");
  });

  test("leave the question of a thread its own card", () => {
    event("step_start", "worker");
    step("__wait__");
    expect(shown()).toEqual([
      ["__wait__", 1],
      ["worker", null],
    ]);
  });

  test("have the tools with their results", () => {
    event("llm_tool_use", "a", { tool_use_id: "1", name: "read", input: { path: "x" } });
    event("llm_tool_use", "a", { tool_use_id: "2", name: "read", input: { path: "y" } });
    event("llm_tool_result", "a", { tool_use_id: "2", content: "gone", is_error: true });
    const tools = log.cards[0]?.activity?.tools ?? [];
    expect(tools.map(({ isDone, isError, output }) => [isDone, isError, output])).toEqual([
      [false, false, undefined],
      [true, true, "gone"],
    ]);
  });

  test("show what steps of a workflow inside of it tell as their own", () => {
    const told = (stepID: string, type: string, payload: object) => ({
      type: "tool_message",
      stepID: "Subflow_A",
      payload: { name: "WorkflowRun", data: { type, stepID, payload, runID: "01-2" } },
    });
    const tell = ({ type, stepID, payload }: ReturnType<typeof told>) =>
      event(type, stepID, payload);
    tell(told("LLM_B", "llm_token", { delta: "Hi" }));
    const { payload } = told("LLM_D", "llm_token", { delta: "deep" });
    tell(told("Subflow_C", "tool_message", payload));
    expect(log.open.map(roleOf)).toEqual(["Subflow_A/LLM_B", "Subflow_A/Subflow_C/LLM_D"]);
    step("Subflow_A/LLM_B");
    expect(log.cards.map(({ activity }) => activity?.response)).toEqual(["Hi", "deep"]);
  });

  test("take an event of any name, also of what every object has", () => {
    for (const type of ["__proto__", "__defineGetter__", "constructor"]) event(type, "a");
    event("llm_token", "a", { delta: "x" });
    expect(log.cards.map(({ activity }) => activity?.response)).toEqual(["x"]);
  });

  test("are not made by events of the whole workflow, nor by plain lines of the log", () => {
    event("workflow_start", null);
    log.takeEvent({ tag: "LINE0000", content: "hello", timestamp: 5 });
    expect(log.cards).toEqual([]);
  });
});

const fail = (): never => {
  throw new Error("there is no card");
};
