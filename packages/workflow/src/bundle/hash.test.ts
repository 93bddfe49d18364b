import { expect, test } from "bun:test";
import { isHash } from "../contract/names.ts";
import { crockford, hashOf } from "./hash.ts";

const utf8 = (text: string) => new TextEncoder().encode(text);

test("the hash of empty input is EYHPV6X8XHTCS", () => {
  expect(hashOf(new Uint8Array())).toBe("EYHPV6X8XHTCS");
});

test("known XXH64 values are written in Crockford Base32", () => {
  expect(hashOf(utf8("a"))).toBe(crockford(0xd24ec4f1a98c6e5bn));
  expect(hashOf(utf8("abc"))).toBe(crockford(0x44bc2cf5ad770999n));
  expect(hashOf(utf8("a"))).toBe("D4KP4Y6MRRVJV");
});

test("the hash is computed from bytes, also from invalid UTF-8", () => {
  const lone = new Uint8Array([0x61, 0xff]);
  expect(hashOf(lone)).not.toBe(hashOf(utf8(new TextDecoder().decode(lone))));
});

test("the hash of a view of a larger buffer depends on the view alone", () => {
  const whole = utf8("xxabcxx");
  expect(hashOf(whole.subarray(2, 5))).toBe(hashOf(utf8("abc")));
});

test("numbers have 13 digits, most significant digit first", () => {
  expect(crockford(0n)).toBe("0000000000000");
  expect(crockford(1n)).toBe("0000000000001");
  expect(crockford(32n)).toBe("0000000000010");
  expect(crockford(2n ** 64n - 1n)).toBe("FZZZZZZZZZZZZ");
  expect(isHash(crockford(123456789n))).toBe(true);
});

test("a number that is not an unsigned 64-bit integer is refused", () => {
  expect(() => crockford(-1n)).toThrow(RangeError);
  expect(() => crockford(2n ** 64n)).toThrow(RangeError);
});
