import { toBase32 } from "../contract/base32.ts";
import { xxh64 } from "../record/xxh64.ts";

/**
 * Returns the hash that names a bundle: the XXH64, with seed 0, of its bytes, which need not be valid UTF-8.
 *
 * @example hashOf(new Uint8Array()) // "EYHPV6X8XHTCS"
 */
export const hashOf = (bytes: Uint8Array): string => crockford(xxh64(bytes));

/** Formats a number as 13 digits of Crockford Base32. @throws RangeError unless it is an unsigned 64-bit integer. */
export function crockford(value: bigint): string {
  if (value !== BigInt.asUintN(64, value)) throw new RangeError("not an unsigned 64-bit number");
  const low = 0xffffffffffn;
  return toBase32(Number(value >> 40n), 5) + toBase32(Number(value & low), 8);
}
