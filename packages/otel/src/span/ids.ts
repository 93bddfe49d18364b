import { createHash } from "node:crypto";

const digits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

const hashOf = (text: string): string => createHash("sha256").update(text).digest("hex");

/** Returns the trace id of a thread: the 128 bits of its ULID, in hexadecimal. */
export function traceIdOf(threadId: string): string {
  let bits = 0n;
  for (const digit of threadId) bits = bits * 32n + BigInt(digits.indexOf(digit));
  // A caller may choose the id 0, which is not a valid trace id.
  return bits === 0n ? hashOf(threadId).slice(0, 32) : bits.toString(16).padStart(32, "0");
}

/** Returns the id of a span of a thread: the same in every process, so that a second export has the same ids. */
export const spanIdOf = (threadId: string, key: string): string =>
  hashOf(`${threadId} ${key}`).slice(0, 16);

/** The key of a thread's root span. */
export const rootKey = "";
