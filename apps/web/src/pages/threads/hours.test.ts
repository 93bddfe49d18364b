import { describe, expect, test } from "bun:test";
import { barsOf, hourMs, hoursOf, windowOf } from "./hour-strip.tsx";

const now = Date.parse("2026-11-28T10:30:00Z");
const hourOf = (at: number) => Math.floor(at / hourMs) * hourMs;

describe("the hours that are shown", () => {
  test("are the last day without a filter", () => {
    expect(windowOf({}, now)).toEqual({ start: hourOf(now) - 23 * hourMs, count: 24 });
  });

  test("follow the filter, up to a week", () => {
    expect(windowOf({ since: "3d" }, now).count).toBe(73);
    expect(windowOf({ since: "30d" }, now)).toEqual({
      start: hourOf(now) - 167 * hourMs,
      count: 168,
    });
  });

  test("stay the last day when one of its hours is chosen", () => {
    const filter = { since: "2026-11-28T04:00Z", until: "2026-11-28T05:00Z" };
    expect(windowOf(filter, now)).toEqual(windowOf({}, now));
  });

  test("are around an earlier hour", () => {
    const filter = { since: "2026-11-20T04:00Z", until: "2026-11-20T05:00Z" };
    const { start, count } = windowOf(filter, now);
    const at = Date.parse(filter.since);
    expect(start).toBeLessThanOrEqual(at);
    expect(start + count * hourMs).toBeGreaterThan(at + hourMs);
  });
});

test("hours without runs are empty", () => {
  const frame = windowOf({}, now);
  const busy = { at: frame.start + hourMs, runs: 2, failed: 1, p50Ms: 5, p95Ms: 9, cost: 1 };
  const hours = hoursOf({ hours: [busy] }, frame);
  expect(hours).toHaveLength(24);
  expect(hours[1]).toEqual(busy);
  expect(hours[2]).toEqual({
    ...{ at: frame.start + 2 * hourMs, runs: 0, failed: 0 },
    ...{ p50Ms: null, p95Ms: null, cost: 0 },
  });
});

test("a bar has the height of its value, and a small value is visible", () => {
  expect(barsOf([0, 10, 5, 0.001], 10)).toBe(
    "M1.15 100V0.0h.7V100zM2.15 100V50.0h.7V100zM3.15 100V96.0h.7V100z",
  );
  expect(barsOf([0, 0], 0)).toBe("");
});
