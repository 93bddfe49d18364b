import { expect, test } from "bun:test";
import { ulid } from "ulid";
import { ulidTime } from "./base32.ts";

test("ulidTime returns the creation time of a ULID", () => {
  for (const time of [1, 1_700_000_000_000, 2 ** 48 - 1]) expect(ulidTime(ulid(time))).toBe(time);
});
