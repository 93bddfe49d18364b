import { expect, test } from "bun:test";
import { forEachOf, newThreadId } from "./bulk.ts";

test("an id of a new thread is a ULID of its time", () => {
  const random = new Uint8Array(16).fill(255);
  expect(newThreadId(0, random)).toBe("0000000000ZZZZZZZZZZZZZZZZ");
  expect(newThreadId(Date.parse("2026-11-28T10:00:00Z"), random)).toMatch(/^01M8[0-9A-Z]{22}$/);
  expect(newThreadId(1, random) > newThreadId(0, random)).toBe(true);
});

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
