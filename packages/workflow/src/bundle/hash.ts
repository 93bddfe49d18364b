import type { XXHashAPI } from "xxhash-wasm";

let loading: Promise<XXHashAPI> | undefined;

/**
 * The hash that names a bundle: XXH64, seed 0, of its bytes, as 13 digits of Crockford Base32.
 *
 * It takes bytes, never text: two files that differ only in invalid UTF-8 are two bundles.
 * @example await hashOf(new Uint8Array()) // "EYHPV6X8XHTCS"
 */
export async function hashOf(bytes: Uint8Array): Promise<string> {
  loading ??= import("xxhash-wasm").then((module) => module.default());
  return crockford((await loading).h64Raw(bytes, 0n));
}

const digits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const bits = 5n;
const length = 13;

/**
 * A 64-bit number in Crockford Base32: 13 digits, most significant first, zero-padded on the left.
 *
 * The alphabet is that of https://www.crockford.com/base32.html, without a check symbol.
 * @throws RangeError when the number is negative or longer than 64 bits.
 * @example crockford(0xef46db3751d8e999n) // "EYHPV6X8XHTCS"
 */
export function crockford(value: bigint): string {
  if (value !== BigInt.asUintN(64, value)) throw new RangeError("not an unsigned 64-bit number");
  let text = "";
  for (let rest = value; text.length < length; rest >>= bits) {
    text = digits.charAt(Number(rest & 31n)) + text;
  }
  return text;
}
