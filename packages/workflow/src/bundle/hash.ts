import type { XXHashAPI } from "xxhash-wasm";
import { toBase32 } from "../contract/base32.ts";

const { xxHash64 } = Bun.hash;
let loading: Promise<XXHashAPI> | undefined;

/**
 * The hash that names a bundle: XXH64, seed 0, of its bytes (not of its text: invalid UTF-8 counts).
 *
 * @example await hashOf(new Uint8Array()) // "EYHPV6X8XHTCS"
 */
export async function hashOf(bytes: Uint8Array): Promise<string> {
  loading ??= import("xxhash-wasm").then((module) => module.default());
  return crockford((await loading).h64Raw(bytes, 0n));
}

/**
 * The same of a bundle that is stored, to be compared with its name: by Bun's own XXH64, so that no worker compiles
 * WebAssembly before its first step.
 */
export const storedHashOf = (bytes: Uint8Array): string => crockford(xxHash64(bytes, 0n));

/** A number as 13 digits of Crockford Base32. @throws RangeError unless it is an unsigned one of 64 bits. */
export function crockford(value: bigint): string {
  if (value !== BigInt.asUintN(64, value)) throw new RangeError("not an unsigned 64-bit number");
  const low = 0xffffffffffn;
  return toBase32(Number(value >> 40n), 5) + toBase32(Number(value & low), 8);
}
