import { describe, expect, test } from "bun:test";
import { newActivity } from "../../lib/activity.ts";
import type { Card } from "../../lib/thread-log.ts";
import { ticksOf, timelineOf } from "./bars.ts";

const card = (role: string, number: number | null, beganAt: number, at = 0): Card => ({
  key: role,
  step: number === null ? null : { number, role, content: "", meta: {}, timestamp: at },
  activity: newActivity(role, beganAt),
  beganAt,
  version: 0,
});

describe("the timeline", () => {
  test("has a lane a role and a bar a step", () => {
    const line = timelineOf(
      [card("a", 1, 0, 10), card("b", 2, 10, 40), card("a", 3, 40, 45)],
      null,
      0,
    );
    expect(line).toMatchObject({ from: 0, to: 45 });
    expect(line?.lanes.map(({ role, totalMs, bars }) => [role, totalMs, bars.length])).toEqual([
      ["a", 15, 2],
      ["b", 30, 1],
    ]);
  });

  test("lets what is at work reach to now, and leaves out what was lost", () => {
    const cards = [card("a", 1, 0, 10), card("b", null, 10)];
    expect(timelineOf(cards, 60, 0)?.lanes[1]?.bars).toEqual([
      { number: null, from: 10, to: 60, isLive: true },
    ]);
    expect(timelineOf(cards, null, 0)?.lanes).toHaveLength(1);
  });

  test("leaves out what a fork brought along", () => {
    const line = timelineOf([card("a", 1, 0, 10), card("a", 2, 10, 530)], null, 500);
    expect(line).toMatchObject({ from: 500, to: 530, lanes: [{ totalMs: 30 }] });
  });

  test("puts an answer beside its question", () => {
    const cards = [card("__wait__", 1, 0, 1), card("__input__", 2, 1, 9)];
    expect(timelineOf(cards, null, 0)?.lanes.map(({ role }) => role)).toEqual(["__wait__"]);
  });

  test("is none without steps", () => {
    expect(timelineOf([], 5, 0)).toBeNull();
  });
});

test("the ticks are round and few", () => {
  expect(ticksOf(4_600, 5)).toEqual([0, 1_000, 2_000, 3_000, 4_000]);
  expect(ticksOf(0, 5)).toEqual([0]);
});
