/*
 * A binary message: a JSON header on one line, then the parts back to back. The parts are raw bytes, because JSON
 * strings would be longer.
 */

/** Joins a header and parts to a message. */
export function frame(header: object, parts: readonly Uint8Array[]): Buffer {
  const lengths = parts.map((part) => part.length);
  return Buffer.concat([Buffer.from(`${JSON.stringify({ header, lengths })}\n`), ...parts]);
}

/** Splits a message into its header and parts. */
export function unframe(bytes: Uint8Array): { header: unknown; parts: Buffer[] } {
  const message = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const end = message.indexOf("\n");
  const { header, lengths } = JSON.parse(message.toString("utf8", 0, end)) as {
    header: unknown;
    lengths: number[];
  };
  let from = end + 1;
  const parts = lengths.map((length) => message.subarray(from, (from += length)));
  return { header, parts };
}

/** Returns the key of the nth value of a kind. Keys sort in the order of their numbers. */
export const numbered = (kind: string, n: number): string =>
  `${kind}:${String(n).padStart(8, "0")}`;

/**
 * Returns the key of the nth batch of a thread's debug log. It sorts after `meta`: servers that limit the state in a
 * call send the first keys.
 */
export const batchKey = (n: number): string => numbered("t", n);

/** Returns the key of the nth batch in a thread that an older version of the worker drove. */
export const oldBatchKey = (n: number): string => numbered("e", n);
