/**
 * The chained checksum of a log. The last field of each record is its `sum`: XXH64 over the bytes of the record
 * before that field, seeded with the sum of the record before it (0 for the first), as 16 hexadecimal digits. So a
 * changed, lost, doubled, swapped or inserted line breaks the chain at its line.
 *
 *     {"role":"a","content":"","meta":{},"timestamp":1,"sum":"0f3a…"}
 */
export type Sum = bigint;

const { xxHash64 } = Bun.hash;

/** The seed of a log's first record. */
export const firstSum: Sum = 0n;

const field = ',"sum":"';
const tailLength = field.length + 16 + 2;
const pattern = /^[0-9a-f]{16}$/;

const textOf = (sum: Sum): string => sum.toString(16).padStart(16, "0");

/** A record's JSON text with its sum. `previous` is that of the record before it. */
export function sealed(json: string, previous: Sum): { text: string; sum: Sum } {
  const body = json.slice(0, -1);
  const sum = xxHash64(body, previous);
  return { text: `${body}${field}${textOf(sum)}"}`, sum };
}

/** Records, each the bytes of its JSON with or without a sum, as the lines of one chain. */
export function sealedLines(records: readonly Uint8Array[]): { bytes: Uint8Array; sum: Sum } {
  const length = records.reduce((total, record) => total + record.length + tailLength + 1, 0);
  const bytes = Buffer.allocUnsafe(length);
  let at = 0;
  let sum = firstSum;
  for (const record of records) {
    const body = bodyOf(record);
    bytes.set(body, at);
    at += body.length;
    sum = xxHash64(body, sum);
    at += bytes.write(`${field}${textOf(sum)}"}\n`, at, "latin1");
  }
  return { bytes: bytes.subarray(0, at), sum };
}

function bodyOf(record: Uint8Array): Uint8Array {
  const tail = Buffer.from(record.subarray(Math.max(0, record.length - tailLength))).toString(
    "latin1",
  );
  const isSealed = tail.startsWith(field) && pattern.test(tail.slice(field.length, -2));
  return record.subarray(0, record.length - (isSealed ? tailLength : 1));
}

/** The sum that a record names; null when it has none in the form of one. */
export function sumIn(value: unknown): Sum | null {
  const { sum } = value as { sum?: unknown };
  return typeof sum === "string" && pattern.test(sum) ? BigInt(`0x${sum}`) : null;
}

/**
 * The sum of a record, given as its value and the bytes of its line, when it is the one that comes after
 * `previous`; else null.
 */
export function nextSum(value: unknown, line: Uint8Array, previous: Sum): Sum | null {
  const sum = xxHash64(line.subarray(0, -tailLength), previous);
  return (value as { sum?: unknown }).sum === textOf(sum) ? sum : null;
}

/**
 * How long the record is that some bytes begin with, when its sum is the one that comes after `previous`; null
 * when they begin with none that is whole.
 */
export function wholeLength(bytes: Buffer, previous: Sum): number | null {
  for (let at = bytes.indexOf(field); at >= 0; at = bytes.indexOf(field, at + 1)) {
    const length = at + tailLength;
    const sum = textOf(xxHash64(bytes.subarray(0, at), previous));
    if (bytes.toString("latin1", at + field.length, length) === `${sum}"}`) return length;
  }
  return null;
}
