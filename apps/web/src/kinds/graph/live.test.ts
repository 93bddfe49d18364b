import { expect, test } from "bun:test";
import { ThreadLog } from "../../lib/thread-log.ts";
import { committedNodes, liveNodes, writingOf } from "./live.ts";

test("a node shows its newest attempt, an approval its question, a subagent its call", () => {
  const log = new ThreadLog();
  let seq = 0;
  const event = (attempt: string, type: string, payload: object) => {
    seq += 1;
    const line = { tag: "EVENT000", content: "", stepID: null, timestamp: seq * 100 };
    log.takeEvent(Object.assign(line, { seq, attempt, type, payload }));
  };
  const step = (attempt: string, role: string, meta = {}) => {
    const made = { number: log.steps.length + 1, role, content: "", timestamp: (seq += 1) * 100 };
    log.takeStep({ ...made, meta, attempt });
  };
  const usage = { input_tokens: 30, output_tokens: 10 };
  event("A1", "attempt_start", { role: "writer" });
  event("A1", "llm_done", { model: "gpt-5", usage, cost: 0.5 });
  event("A2", "attempt_start", { role: "chemist", path: [{ in: "writer", child: "chemist" }] });
  event("A2", "attempt_end", { outcome: "failed" });
  step("A1", "writer", { run: 1, usage, cost: 0.5 });
  step("A3", "__wait__", { for: "approval", nodeId: "check" });
  const live = (asking: string | null, now: number) =>
    Object.fromEntries(
      [...liveNodes(log.cards, asking, now)].map(([id, { state, run, tokens, durationMs }]) => [
        id,
        [state, run, tokens, durationMs],
      ]),
    );
  expect(live("check", 0)).toEqual({
    writer: ["committed", 1, 40, 400],
    chemist: ["failed", 1, 0, 100],
    check: ["waiting", 1, 0, null],
  });
  step("A4", "__input__", { nodeId: "check" });
  event("A5", "attempt_start", { role: "writer" });
  expect(live(null, seq * 100 + 70)).toMatchObject({
    writer: ["running", 2, 0, 70],
    check: ["committed", 1, 0, null],
  });
  for (const delta of ["So", " far"]) event("A5", "llm_token", { delta });
  event("A6", "attempt_start", { role: "writer" });
  expect([...writingOf(log.cards)]).toEqual([["writer", ["So far", ""]]]);
  expect([...committedNodes(log.cards)]).toEqual(["writer", "check"]);
});
