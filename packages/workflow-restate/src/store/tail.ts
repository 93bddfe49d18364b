import { closeSync, openSync, readSync, statSync } from "node:fs";

/** Maximum bytes of a file in one message, unless a single line is longer. */
const mostAtOnce = 512 * 1024;

/** A file, and the number of bytes already sent. */
export type Tail = { path: string; sent: number };

/** Returns a file's length in bytes; 0 when it is missing. */
export const sizeOf = (path: string): number =>
  statSync(path, { throwIfNoEntry: false })?.size ?? 0;

/** Returns unsent whole lines of a file, up to a limit. Reads synchronously because each step waits for it. */
export function gainOf({ path, sent }: Tail): Buffer {
  const size = sizeOf(path);
  if (size <= sent) return Buffer.alloc(0);
  const file = openSync(path, "r");
  try {
    let length = Math.min(size - sent, mostAtOnce);
    for (;;) {
      const bytes = Buffer.alloc(length);
      readSync(file, bytes, 0, length, sent);
      const end = bytes.lastIndexOf("\n") + 1;
      if (end > 0 || length >= size - sent) return bytes.subarray(0, end);
      length = Math.min(size - sent, length * 4);
    }
  } finally {
    closeSync(file);
  }
}
