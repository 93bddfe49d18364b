import { describe, expect, test } from "bun:test";
import { cardsOf } from "../../../lib/thread-log.ts";
import { liveNodes } from "./live.ts";
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
