import { expect, test } from "bun:test";
import { forEachOf } from "./bulk.tsx";

test("each item is handled once, and a few at a time", async () => {
  const done: number[] = [];
  let running = 0;
  let most = 0;
  await forEachOf(
    Array.from({ length: 10 }, (_, index) => index),
    async (item) => {
      running += 1;
      most = Math.max(most, running);
      await Promise.resolve();
      running -= 1;
      done.push(item);
    },
  );
  expect(done.toSorted((a, b) => a - b)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  expect(most).toBe(4);
});
