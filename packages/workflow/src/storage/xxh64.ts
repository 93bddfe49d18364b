import xxhash from "xxhash-wasm";

const { h64Raw } = await xxhash();

/** XXH64 of bytes: it names bundles and chains the records of logs. */
export const xxh64 = (bytes: Uint8Array, seed = 0n): bigint => h64Raw(bytes, seed);
