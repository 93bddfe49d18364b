import { expect, test } from "bun:test";
import { isAbandoned, seal, stage, type Staging } from "./staging.ts";

const second = 1000;
const begun = (token: string, at: number): Staging => {
  const staged = stage(null, { token, from: 0 }, at);
  if (typeof staged === "string") throw new Error(staged);
  return staged.staging;
};

test("the last message of a start creates the thread", () => {
  const staging = begun("a", 0);
  expect(stage(staging, { token: "a", from: 3 }, second)).toEqual({
    staging: { token: "a", at: second },
    isNew: false,
  });
  expect(seal({ token: "a", at: second }, "a", 2 * second)).toBe("sealed");
});

test("another start waits for a start in progress, and replaces a silent start", () => {
  const staging = begun("a", 0);
  expect(stage(staging, { token: "b", from: 0 }, 9 * second)).toBe("pending");
  expect(seal(staging, null, 9 * second)).toBe("pending");
  expect(seal(staging, null, 11 * second)).toBe("sealed");
  const other = stage(staging, { token: "b", from: 0 }, 11 * second);
  expect(other).toEqual({ staging: { token: "b", at: 11 * second }, isNew: true });
  const { staging: taken } = other as { staging: Staging };
  expect(stage(taken, { token: "a", from: 3 }, 12 * second)).toBe("superseded");
  expect(seal(taken, "a", 12 * second)).toBe("superseded");
});

test("a repeated first message restarts a start; a later message without a first message is refused", () => {
  const again = stage(begun("a", 0), { token: "a", from: 0 }, second);
  expect(again).toEqual({ staging: { token: "a", at: second }, isNew: true });
  expect(stage(null, { token: "a", from: 3 }, 0)).toBe("superseded");
  expect(seal(null, "a", 0)).toBe("superseded");
});

test("staged values are garbage after an hour", () => {
  const staging = begun("a", 0);
  expect([isAbandoned(staging, 3000 * second), isAbandoned(staging, 3601 * second)]).toEqual([
    false,
    true,
  ]);
});
