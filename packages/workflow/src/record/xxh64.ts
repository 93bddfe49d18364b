import xxhash from "xxhash-wasm";

const hasher = await xxhash();

/** Returns the XXH64 of bytes, which names bundles and chains the records of logs. */
export const xxh64 = (bytes: Uint8Array, seed = 0n): bigint => hasher.h64Raw(bytes, seed);
