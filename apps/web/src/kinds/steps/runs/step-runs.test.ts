import { describe, expect, test } from "bun:test";
import { cardsOf } from "../../../lib/thread-log.ts";
import { liveNodes } from "./live.ts";
import { RunLines } from "./run-events.ts";
import { KeptTexts, readSessions, withoutSession, withSession } from "./sessions.ts";
import { declaredBeginning, paramsOf } from "./start.ts";

const hour = 60 * 60 * 1_000;
const session = (runID: string, startedAt = 0) => ({ runID, label: "Run", startedAt });

describe("the sessions of an editor", () => {
  test("are kept for a day, at most twelve, and invalid sessions are dropped", () => {
    const stored = JSON.stringify({
      all: [session("old", 0), session("new", 20 * hour), { runID: 3 }, null],
      selected: "old",
    });
    expect(readSessions(stored, 30 * hour)).toEqual({
      all: [session("new", 20 * hour)],
      selected: "new",
    });
    for (const text of [null, "", "{", "[]", '{"all":3}']) {
      expect(readSessions(text, 0)).toEqual({ all: [], selected: null });
    }
    let list = readSessions(null, 0);
    for (let n = 0; n < 20; n += 1) list = withSession(list, session(`run ${n}`));
    expect([list.all.length, list.all.at(-1)?.runID, list.selected]).toEqual([
      12,
      "run 19",
      "run 19",
    ]);
  });

  test("are removed one by one, and the last remaining one is selected", () => {
    const two = withSession(withSession(readSessions(null, 0), session("a")), session("b"));
    expect(withoutSession(two, "b")).toEqual({ all: [session("a")], selected: "a" });
    expect(withoutSession(two, "a").selected).toBe("b");
  });

  test("are kept in memory if the storage fails, and in the storage once it works", () => {
    const stored = new Map<string, string>();
    let isOff = true;
    const use = <Result>(act: () => Result): Result => {
      if (isOff) throw new Error("The quota has been exceeded.");
      return act();
    };
    const texts = new KeptTexts({
      getItem: (key) => use(() => stored.get(key) ?? null),
      setItem: (key, text) => use(() => void stored.set(key, text)),
      removeItem: (key) => use(() => void stored.delete(key)),
    });
    expect(texts.read("runs")).toBeNull();
    texts.write("runs", "one");
    expect(texts.read("runs")).toBe("one");
    isOff = false;
    texts.write("runs", "two");
    stored.set("runs", "three, by another tab");
    expect(texts.read("runs")).toBe("three, by another tab");
  });
});

describe("the events of a run", () => {
  const event = (type: string, payload: object, seq: number) => ({
    ...{ tag: "QK4DX8TM", content: "", timestamp: seq, stepID: "Tool_A", step: 1 },
    ...{ type, payload, seq },
  });

  test("are all events except tokens, with checkpoints and reruns", () => {
    const lines = new RunLines();
    lines.takeEvent(event("llm_token", { delta: "x" }, 1));
    lines.takeEvent(event("tool_message", { name: "ReadFile", level: "warn", message: "big" }, 2));
    lines.takeEvent(event("var_changed", { name: "$x", oldValue: null, newValue: { a: 1 } }, 3));
    lines.takeStep({ number: 1, role: "Tool_A", content: "", meta: {}, timestamp: 4 });
    lines.takeStep({ number: 2, role: "__wait__", content: "?", meta: {}, timestamp: 5 });
    const rerun = { for: "rerun", stepID: "Tool_A" };
    lines.takeStep({ number: 3, role: "__input__", content: "again", meta: rerun, timestamp: 6 });
    expect(lines.lines.map(({ type, stepID, text }) => [type, stepID, text])).toEqual([
      ["tool_message", "Tool_A", "ReadFile, warn: big"],
      ["var_changed", "Tool_A", '$x = {"a":1}'],
      ["checkpoint", "Tool_A", "step 1 committed"],
      ["rerun", "Tool_A", "again"],
    ]);
  });

  test("are the last 2,000, with the number of dropped lines", () => {
    const lines = new RunLines();
    for (let n = 0; n < 2_010; n += 1) lines.takeEvent(event("step_print", { value: n }, n));
    expect([lines.lines.length, lines.dropped, lines.lines[0]?.text]).toEqual([2_000, 10, "10"]);
  });
});

test("a step shows its newest attempt, its number of runs, and whether it waits", () => {
  const step = (number: number, role: string, meta = {}) => ({
    number,
    role,
    content: "",
    meta,
    timestamp: number,
  });
  const cards = cardsOf([
    step(1, "Set_A"),
    step(2, "Set_A"),
    step(3, "__wait__", { for: "pause", stepID: "Pause_B" }),
  ]);
  const live = liveNodes(cards, "waiting", 10);
  expect(live.get("Set_A")).toMatchObject({ state: "committed", run: 2 });
  expect(live.get("Pause_B")?.state).toBe("waiting");
  expect([...live.keys()]).not.toContain("__wait__");
  expect(liveNodes(cards, "running", 10).has("Pause_B")).toBe(false);
  const [first] = cards;
  if (first) first.attempt.status = "running";
  expect(liveNodes(cards.slice(0, 1), "running", 10).get("Set_A")?.state).toBe("running");
  expect(liveNodes(cards.slice(0, 1), "interrupted", 10).get("Set_A")?.state).toBe("lost");
});

test("a run from a step of a document without a run starts with the declared values", () => {
  const registry = {
    params: ["goal(STRING)", "n(INT) = 2"],
    vars: ["$x(STRING) = hi", "$y(OBJECT)"],
  };
  expect(declaredBeginning({ registry })).toEqual({
    threadId: null,
    steps: 0,
    params: { goal: null, n: 2 },
    variables: { $x: "hi", $y: null },
  });
  expect(paramsOf({ registry })).toMatchObject({ required: ["goal"] });
  for (const broken of [{}, { registry: 3 }, { registry: { params: ["("] } }]) {
    expect(paramsOf(broken)).toBeNull();
    expect(declaredBeginning(broken)).toMatchObject({ params: {}, variables: {} });
  }
});
