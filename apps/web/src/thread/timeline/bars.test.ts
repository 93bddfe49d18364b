import { describe, expect, test } from "bun:test";
import { ThreadLog } from "../../lib/thread-log.ts";
import { ticksOf, timelineOf } from "./bars.ts";

const start = { threadId: "01", workflow: "w", hash: "h", prompt: "", maxRounds: 9, createdAt: 0 };

let seq = 0;
const event = (timestamp: number, attempt: string, type: string, payload: object) => {
  seq += 1;
  return { tag: "EVENT000", content: "", stepID: null, timestamp, seq, attempt, type, payload };
};

/** A log of attempts `[role, from, to]`; `to` is null for a running attempt. */
function logOf(...attempts: [role: string, from: number, to: number | null][]): ThreadLog {
  const log = new ThreadLog();
  log.takeStart({ ...start, forkFrom: null });
  for (const [index, [role, from]] of attempts.entries()) {
    log.takeEvent(event(from, `a${index}`, "attempt_start", { role }));
  }
  const ended = attempts.flatMap(([role, , to], index) =>
    to === null ? [] : [{ role, to, index }],
  );
  for (const { role, to, index } of ended.toSorted((a, b) => a.to - b.to)) {
    const number = log.steps.length + 1;
    const step = { number, role, content: "", meta: {}, timestamp: to };
    log.takeStep(Object.assign(step, { attempt: `a${index}` }));
  }
  return log;
}

const lanesOf = (log: ThreadLog, status: "running" | "waiting" | "completed", now = 0) =>
  timelineOf(log.cards, status, now)?.lanes.map(({ role, totalMs, bars, rows }) => ({
    role,
    totalMs,
    rows,
    bars: bars.map(({ number, from, to, row }) => [number, from, to, row]),
  }));

describe("the timeline", () => {
  test("has a lane per role, and each attempt from its start to its end", () => {
    expect(lanesOf(logOf(["a", 0, 10], ["b", 10, 40], ["a", 60, 65]), "completed")).toEqual([
      {
        role: "a",
        totalMs: 15,
        rows: 1,
        bars: [
          [1, 0, 10, 0],
          [3, 60, 65, 0],
        ],
      },
      { role: "b", totalMs: 30, rows: 1, bars: [[2, 10, 40, 0]] },
    ]);
  });

  test("shows concurrent attempts of a role in rows, each with its own duration", () => {
    const log = logOf(["shot", 0, 3_000], ["shot", 1, 2_900], ["shot", 2, 2_800]);
    expect(lanesOf(log, "completed")).toEqual([
      {
        role: "shot",
        totalMs: 8_697,
        rows: 3,
        bars: [
          [3, 0, 3_000, 0],
          [2, 1, 2_900, 1],
          [1, 2, 2_800, 2],
        ],
      },
    ]);
  });

  test("extends running attempts to now, unless they have no worker", () => {
    const log = logOf(["a", 0, 10], ["b", 10, null]);
    expect(lanesOf(log, "running", 60)?.[1]?.bars).toEqual([[null, 10, 60, 0]]);
    expect(lanesOf(log, "waiting", 60)).toHaveLength(1);
  });

  test("skips copied attempts and attempts without a known start", () => {
    const log = new ThreadLog();
    log.takeStart({ ...start, forkFrom: { threadId: "00", steps: 1 } });
    const step = { role: "a", content: "", meta: {} };
    log.takeStep(Object.assign({ ...step, number: 1, timestamp: 9 }, { attempt: "a0" }));
    log.takeStep({ ...step, number: 2, timestamp: 20 });
    expect(timelineOf(log.cards, "completed", 0)).toBeNull();
  });

  test("shows the time from a question to its answer, and no other time between attempts", () => {
    const log = logOf(["ask", 0, 5], ["__wait__", 5, 6], ["__input__", 90, 90], ["ship", 95, 99]);
    expect(lanesOf(log, "completed")?.map(({ role, totalMs }) => [role, totalMs])).toEqual([
      ["ask", 5],
      ["__wait__", 84],
      ["ship", 4],
    ]);
    const asked = logOf(["__wait__", 5, 6]);
    expect(lanesOf(asked, "waiting", 50)?.[0]?.bars).toEqual([[1, 6, 50, 0]]);
  });
});

test("the ticks are round and few", () => {
  expect(ticksOf(4_600, 5)).toEqual([0, 1_000, 2_000, 3_000, 4_000]);
  expect(ticksOf(0, 5)).toEqual([0]);
});
