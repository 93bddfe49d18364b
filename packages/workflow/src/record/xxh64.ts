import xxhash from "xxhash-wasm";

const hasher = await xxhash();

/** XXH64 of bytes: it names bundles and chains the records of logs. */
export const xxh64 = (bytes: Uint8Array, seed = 0n): bigint => hasher.h64Raw(bytes, seed);
