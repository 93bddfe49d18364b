import { expect, test } from "bun:test";
import { attemptIds, attemptTime } from "./attempt.ts";

test("attempt ids are valid and ascend at any clock setting", () => {
  for (const now of [-1e12, -1, 0, 1.5, 2 ** 45 - 1, 2 ** 45, 1e15]) {
    const nextId = attemptIds(() => now);
    const [first, second] = [nextId(), nextId()];
    expect(first.length).toBe(13);
    expect(attemptTime(first)).toBe(Math.min(Math.max(Math.floor(now), 0), 2 ** 45 - 1));
    expect(first < second).toBe(true);
  }
});
