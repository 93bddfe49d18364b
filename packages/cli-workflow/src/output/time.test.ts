import { expect, test } from "bun:test";
import { ago, elapsed, isoTime } from "./time.ts";

const now = Date.UTC(2026, 4, 6, 12, 0, 0);

test("a moment is shown by how long ago it was", () => {
  const spans: [number, string][] = [
    [0, "just now"],
    [12_000, "12s ago"],
    [3 * 60_000, "3m ago"],
    [5 * 3_600_000, "5h ago"],
    [2 * 86_400_000, "2d ago"],
    [40 * 86_400_000, "2026-03-27"],
  ];
  for (const [span, text] of spans) expect(ago(now - span, now)).toBe(text);
});

test("a moment in the future, after the clock was set back, is just now", () => {
  expect(ago(now + 3_600_000, now)).toBe("just now");
});

test("a span is shown in its two largest units", () => {
  const spans: [number, string][] = [
    [-5, "0.0s"],
    [449, "0.4s"],
    [12_900, "12s"],
    [185_000, "3m 05s"],
    [7_380_000, "2h 03m"],
    [352_800_000, "4d 02h"],
  ];
  for (const [span, text] of spans) expect(elapsed(span)).toBe(text);
});

test("a time that no calendar has is shown as its number", () => {
  expect(isoTime(now)).toBe("2026-05-06T12:00:00.000Z");
  expect(isoTime(1e18)).toBe("1000000000000000000");
});
