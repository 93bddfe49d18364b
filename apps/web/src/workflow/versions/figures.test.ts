import { expect, test } from "bun:test";
import { barsOf, successOf } from "./figures.tsx";

const day = 24 * 60 * 60 * 1_000;

test("the success rate counts ended threads only", () => {
  expect(successOf({ completed: 3, failed: 1 })).toBe(0.75);
  expect(successOf({ completed: 0, failed: 0 })).toBeNull();
});

test("each day has a bar at its place, as high as its share of the busiest day", () => {
  const now = 100 * day + 5;
  const bars = barsOf(
    [
      { at: 60 * day, completed: 9, failed: 9 },
      { at: 99 * day, completed: 2, failed: 2 },
      { at: 100 * day, completed: 4, failed: 0 },
    ],
    now,
  );
  // The busiest day lies before the last 30 days: it sets the scale and is not drawn.
  expect(bars.map(({ x }) => x)).toEqual([28 * 4, 29 * 4]);
  expect(bars.map(({ completed, failed }) => [completed, failed].map(Math.round))).toEqual([
    [3, 3],
    [5, 0],
  ]);
});
