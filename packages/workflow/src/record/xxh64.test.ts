import { expect, spyOn, test } from "bun:test";
import { hashOf } from "../bundle/hash.ts";
import { xxh64 } from "./xxh64.ts";

const utf8 = (text: string) => new TextEncoder().encode(text);

test("known XXH64 values are reproduced", () => {
  expect(xxh64(utf8(""))).toBe(0xef46db3751d8e999n);
  expect(xxh64(utf8("a"))).toBe(0xd24ec4f1a98c6e5bn);
  expect(xxh64(utf8("abc"))).toBe(0x44bc2cf5ad770999n);
});

test("hashes equal the hashes of another implementation at every length, with and without a seed", () => {
  for (const length of [0, 1, 3, 4, 7, 8, 31, 32, 33, 63, 64, 1023, 65_536, 3_000_001]) {
    const bytes = Uint8Array.from({ length }, (_, i) => (i * 31 + (i >> 8)) & 255);
    for (const seed of [0n, 1n, 2n ** 64n - 1n]) {
      expect(xxh64(bytes, seed)).toBe(Bun.hash.xxHash64(bytes, seed));
    }
  }
});

test("hashes do not use Bun's own function", () => {
  const own = spyOn(Bun.hash, "xxHash64").mockReturnValue(1n);
  expect(xxh64(utf8("a"))).toBe(0xd24ec4f1a98c6e5bn);
  expect(hashOf(new Uint8Array())).toBe("EYHPV6X8XHTCS");
  expect(own).not.toHaveBeenCalled();
  own.mockRestore();
});
