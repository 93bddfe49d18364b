import { expect, test } from "bun:test";
import { ulid } from "ulid";
import { ulidOf, ulidTime } from "./base32.ts";

test("a ULID is the one that the package ulid makes of the same time and random numbers", () => {
  for (const time of [1, 1_700_000_000_000, 2 ** 48 - 1]) {
    for (const start of [0, 0.37, 0.999]) {
      const numbers = () => {
        let last = start;
        return () => (last = (last * 7.31 + 0.123) % 1);
      };
      const id = ulidOf(time, numbers());
      expect(id).toBe(ulid(time, numbers()));
      expect(ulidTime(id)).toBe(time);
    }
  }
});
