import { xxh64 } from "./xxh64.ts";
import { builtInReplaced } from "./errors.ts";

/**
 * The chained checksum of a log. The last field of each record is its `sum`: XXH64 over the bytes of the record before
 * that field, seeded with the sum of the record before it (0 for the first), as 16 hexadecimal digits. So a changed,
 * lost, duplicate, swapped or inserted line breaks the chain at its line.
 *
 *     {"role":"a","content":"","meta":{},"timestamp":1,"sum":"0f3a…"}
 */
export type Sum = bigint;

// Captured before a bundle is loaded, because bundles may replace built-ins (RFC 0021).
const encoder = new TextEncoder();
export const encode = encoder.encode.bind(encoder);
const { apply } = Reflect;
const { slice, padStart } = "" as {
  slice: (this: string, start: number, end?: number) => string;
  padStart: (this: string, length: number, fill: string) => string;
};
const { toString } = 0n as { toString: (this: bigint, radix: number) => string };

/** The seed of a log's first record. */
export const firstSum: Sum = 0n;

const field = ',"sum":"';
const tailLength = field.length + 16 + 2;
const pattern = /^[0-9a-f]{16}$/;

/** Formats a sum as 16 hexadecimal digits. */
export const sumText = (sum: Sum): string => apply(padStart, apply(toString, sum, [16]), [16, "0"]);

/** Returns the end of the text of a record with this sum. */
export const tailOf = (sum: Sum): string => `${field}${sumText(sum)}"}`;

/** Returns the JSON of a record without its closing brace, so that fields can be appended. */
export const openEnd = (json: string): string => apply(slice, json, [0, -1]);

const probe = encode("probe");
const probeSum = xxh64(probe);

/**
 * Returns the sum field and the closing brace for a record without its closing brace.
 * @throws WorkflowError `BUILT_IN_REPLACED` when a bundle has replaced built-ins that the hash uses.
 */
export function seal(body: Uint8Array, previous: Sum): { tail: string; sum: Sum } {
  if (xxh64(probe) !== probeSum) throw builtInReplaced();
  const sum = xxh64(body, previous);
  return { tail: tailOf(sum), sum };
}

/** Returns a record's JSON text with its sum. `previous` is the sum of the previous record, if any. */
export function sealed(json: string, previous: Sum = firstSum): { text: string; sum: Sum } {
  const body = openEnd(json);
  const { tail, sum } = seal(encode(body), previous);
  return { text: body + tail, sum };
}

/** Returns a record's sum; null when it is missing or malformed. */
export function sumIn(value: unknown): Sum | null {
  const { sum } = value as { sum?: unknown };
  return typeof sum === "string" && pattern.test(sum) ? BigInt(`0x${sum}`) : null;
}

/** Returns the sum of a line without its newline if it continues `previous`; else null. */
export function nextSum(line: Buffer, previous: Sum): Sum | null {
  return lastSum(line, [0, line.length + 1], previous);
}

/**
 * Returns the last line's sum if every line's sum continues the sum of the line before; else null. `offsets` has the
 * start of each line, and last the position after all lines.
 */
export function lastSum(bytes: Buffer, offsets: readonly number[], previous: Sum): Sum | null {
  let sum = previous;
  for (let n = 1; n < offsets.length; n += 1) {
    const end = (offsets[n] as number) - 1;
    const tail = end - tailLength;
    const start = offsets[n - 1] as number;
    if (tail <= start) return null;
    sum = xxh64(bytes.subarray(start, tail), sum);
    if (bytes.toString("latin1", tail, end) !== tailOf(sum)) return null;
  }
  return sum;
}

/** Returns a record's line without its closing brace, and without its sum, if any. */
export const bodyOf = (line: Buffer, hasSum: boolean): Buffer =>
  line.subarray(0, hasSum ? -tailLength : -1);

/** Returns the length of the sealed record at the start of some bytes if its sum continues `previous`; else null. */
export function wholeLength(bytes: Buffer, previous: Sum): number | null {
  for (let at = bytes.indexOf(field); at >= 0; at = bytes.indexOf(field, at + 1)) {
    const length = at + tailLength;
    const sum = xxh64(bytes.subarray(0, at), previous);
    if (bytes.toString("latin1", at, length) === tailOf(sum)) return length;
  }
  return null;
}
