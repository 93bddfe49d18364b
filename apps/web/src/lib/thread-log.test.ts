import { beforeEach, describe, expect, test } from "bun:test";
import type { NumberedStep } from "@uncaged/workflow-server/api-types";
import { durationOf, failedAmong, nameOf, ThreadLog } from "./thread-log.ts";

let log: ThreadLog;
let now: number;
let seq: number;

const begin = (forkFrom: { threadId: string; steps: number } | null = null) => {
  log = new ThreadLog();
  const thread = { threadId: "01", workflow: "w", hash: "h", prompt: "do it", maxRounds: 10 };
  log.takeStart({ ...thread, createdAt: now, forkFrom });
};

beforeEach(() => {
  now = 1_000;
  seq = 0;
  begin();
});

const event = (attempt: string | null, type: string, payload: object = {}, stepID = "s") => {
  now += 10;
  seq += 1;
  const line = { tag: "EVENT000", content: "", timestamp: now, type, stepID, payload, seq };
  log.takeEvent(Object.assign(line, attempt !== null && { attempt }));
};

const step = (role: string, attempt?: string): NumberedStep => {
  now += 100;
  const made = { number: log.steps.length + 1, role, content: "c", meta: {}, timestamp: now };
  log.takeStep(Object.assign(made, attempt !== undefined && { attempt }));
  return made;
};

const shown = () =>
  log.cards.map(({ attempt, step: own }) => [
    nameOf(attempt),
    own?.number ?? null,
    attempt.turns.map((turn) => (turn.kind === "tool" ? turn.name : turn.text)).join(" "),
  ]);

describe("the cards of a thread", () => {
  test("are its attempts, each with its own text, also when several attempts of a step stream at once", () => {
    const iterations = ["A", "B", "C", "D"];
    for (const id of iterations) {
      const path = [{ in: "Loop_Items", child: "LLM_Ask", iteration: iterations.indexOf(id) }];
      event(id, "attempt_start", { role: "LLM_Ask", path });
      event(id, "step_start", { type: "LLM", resolvedInputs: { prompt: `item ${id}` } });
    }
    for (const word of ["one", "two"]) {
      for (const id of iterations) event(id, "llm_token", { delta: `${id}-${word} ` });
    }
    step("LLM_Ask", "C");
    step("LLM_Ask", "A");
    expect(shown()).toEqual([
      ["LLM_Ask", 1, "C-one C-two "],
      ["LLM_Ask", 2, "A-one A-two "],
      ["LLM_Ask", null, "B-one B-two "],
      ["LLM_Ask", null, "D-one D-two "],
    ]);
    expect(log.cards.map(({ attempt }) => attempt.input?.resolvedInputs)).toEqual(
      ["C", "A", "B", "D"].map((id) => ({ prompt: `item ${id}` })),
    );
    event("A", "step_done", { outputs: { $got: "A" } });
    expect(log.cards[1]?.attempt.output).toEqual({ outputs: { $got: "A" } });
  });

  test("stay the same objects when their step is committed", () => {
    event("A", "attempt_start", { role: "coder" });
    const [before] = log.cards;
    expect(log.cards[0]).toBe(before as (typeof log.cards)[number]);
    step("coder", "A");
    expect(log.cards[0]?.attempt).toBe(before?.attempt as NonNullable<typeof before>["attempt"]);
    expect(log.cards[0]?.step?.number).toBe(1);
  });

  test("are not running if their attempt was skipped or cancelled by a Stop", () => {
    event("A", "attempt_start", { role: "Set_Left_Out" });
    event("A", "attempt_end", { outcome: "skipped" });
    event("B", "attempt_start", { role: "Branch_B" });
    event("B", "attempt_end", { outcome: "cancelled" });
    step("Stop_End");
    expect(log.cards.map(({ attempt }) => attempt.status)).toEqual([
      "skipped",
      "cancelled",
      "committed",
    ]);
  });

  test("are cancelled when their thread ends first", () => {
    event("A", "attempt_start", { role: "slow" });
    log.takeEnd({ status: "completed", result: { returnCode: 0, summary: "" } });
    expect(log.cards[0]?.attempt.status).toBe("cancelled");
    expect(log.status).toBe("completed");
  });

  test("of a fork are marked as copied", () => {
    begin({ threadId: "00", steps: 1 });
    step("a", "A");
    step("b", "B");
    expect(log.cards.map(({ attempt }) => attempt.saved)).toEqual([true, false]);
  });

  test("of a fork show the original thread's records of copied attempts, in either order of arrival", () => {
    begin({ threadId: "00", steps: 2 });
    const turns = [{ kind: "text" as const, text: "Hello", at: 5 }];
    const known = { role: "a", path: [], usage: null, cost: null, retries: [], error: null };
    const copied = { ...known, status: "committed" as const, startedAt: 1, endedAt: 9, turns };
    step("a", "A");
    log.takeCopied([
      { ...copied, attempt: "A", step: 1, saved: true },
      { ...copied, attempt: "B", step: 2, saved: true },
      { ...copied, attempt: "C", step: 3 },
    ]);
    step("a", "B");
    step("a", "C");
    expect(shown()).toEqual([
      ["a", 1, "Hello"],
      ["a", 2, "Hello"],
      ["a", 3, ""],
    ]);
  });

  test("leave out an attempt of a plain bundle before its first report", () => {
    event("A", "attempt_start", { role: null }, null as never);
    expect(log.cards).toEqual([]);
    event("A", "llm_token", { delta: "x" }, "agent");
    expect(shown()).toEqual([["agent", null, "x"]]);
    step("writer", "A");
    expect(shown()).toEqual([["writer", 1, "x"]]);
  });

  test("of an older log are its steps, with events as plain lines", () => {
    event(null, "step_start");
    event(null, "llm_token", { delta: "Hello" });
    step("coder");
    expect(shown()).toEqual([["coder", 1, ""]]);
    expect(log.lines.map(({ type }) => type)).toEqual(["step_start", "llm_token"]);
    log.takeEvent({ tag: "LINE0000", content: "a line without an event", timestamp: 5 });
    expect(log.lines).toHaveLength(2);
  });
});

describe("an attempt", () => {
  test("lasts from its start to its end, without pauses, and may overlap other attempts", () => {
    event("A", "attempt_start", { role: "shot" });
    event("B", "attempt_start", { role: "shot" });
    step("shot", "B");
    step("shot", "A");
    now += 60_000;
    event("C", "attempt_start", { role: "next" });
    step("next", "C");
    expect(log.cards.map(({ attempt }) => durationOf(attempt))).toEqual([100, 210, 100]);
  });

  test("lasts until now while it runs; its duration in older logs is unknown", () => {
    event("A", "attempt_start", { role: "shot" });
    const [card] = log.cards;
    expect(card && durationOf(card.attempt)).toBeNull();
    expect(card && durationOf(card.attempt, now + 5)).toBe(5);
    expect(durationOf({ startedAt: null, endedAt: 9 })).toBeNull();
  });

  test("is the failure of a thread if it failed after the last step", () => {
    event("A", "attempt_start", { role: "first" });
    event("A", "attempt_end", { outcome: "failed", error: { name: "Error", message: "caught" } });
    step("handler", "B");
    event("C", "attempt_start", { role: "second" });
    event("C", "attempt_end", { outcome: "failed", error: { name: "Error", message: "thrown" } });
    expect(failedAmong(log.cards).map(({ attempt }) => attempt.error?.message)).toEqual(["thrown"]);
  });

  test("takes an event with any name, including names of Object.prototype's properties", () => {
    for (const type of ["__proto__", "__defineGetter__", "constructor"]) event("A", type);
    event("A", "llm_token", { delta: "x" });
    expect(shown()).toEqual([["s", null, "x"]]);
  });
});
