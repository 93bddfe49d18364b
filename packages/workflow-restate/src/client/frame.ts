/*
 * A message with bytes: a header as JSON on one line, and behind it its parts one after the other. A record goes as the
 * bytes that it is, and not as a text in JSON, which would be half as long again.
 */

/** Makes a message of a header and parts. */
export function frame(header: object, parts: readonly Uint8Array[]): Buffer {
  const lengths = parts.map((part) => part.length);
  return Buffer.concat([Buffer.from(`${JSON.stringify({ header, lengths })}\n`), ...parts]);
}

/** The header and the parts of a message. */
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

/** The key of the nth value of a kind, so that keys are in the order of their numbers. */
export const numbered = (kind: string, n: number): string =>
  `${kind}:${String(n).padStart(8, "0")}`;

/**
 * Key of the nth batch of a thread's debug log. It sorts after `meta`: servers that limit how many values come with a call
 * send the first keys.
 */
export const batchKey = (n: number): string => numbered("t", n);

/** The key that the nth batch has of a thread that an older worker drove. */
export const oldBatchKey = (n: number): string => numbered("e", n);
