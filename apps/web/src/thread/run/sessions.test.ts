import { describe, expect, test } from "bun:test";
import { readSessions, withoutSession, withSession } from "./run-tabs.tsx";

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

  test("are removed one by one, and the last of the others is then selected", () => {
    const two = withSession(withSession(readSessions(null, 0), session("a")), session("b"));
    expect(withoutSession(two, "b")).toEqual({ all: [session("a")], selected: "a" });
    expect(withoutSession(two, "a").selected).toBe("b");
  });
});
