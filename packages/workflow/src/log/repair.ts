import { closeSync, constants, ftruncateSync, fsyncSync, readSync } from "node:fs";
import { dirname, join } from "node:path";
import { syncDir, writeFileAtomic } from "../storage/atomic.ts";
import { diskError } from "../storage/disk-error.ts";
import { openOwnFile } from "../storage/read.ts";

/** What was cut off a log, and where it is kept. */
export type Cut = { bytes: number; keptIn: string };

/**
 * Cuts what stands after the first `size` bytes of a log: a record that a crash left half written
 * and nobody was told of. The bytes are kept beside the log in `<threadId>.torn-<size>` first.
 *
 * Only the process that holds the hash's lock may call this.
 * @throws WorkflowError when the disk refuses; the log then stands as it was.
 */
export function cutTail(path: string, threadId: string, size: number, torn: number): Cut {
  const keptIn = join(dirname(path), `${threadId}.torn-${size}`);
  let fd: number | null = null;
  try {
    fd = openOwnFile(path, constants.O_RDWR);
    const tail = Buffer.alloc(torn);
    const length = readSync(fd, tail, 0, torn, size);
    writeFileAtomic(keptIn, tail.subarray(0, length));
    ftruncateSync(fd, size);
    fsyncSync(fd);
    syncDir(dirname(path));
    return { bytes: length, keptIn };
  } catch (error) {
    throw diskError(error, "cut the torn tail of", path);
  } finally {
    if (fd !== null) closeSync(fd);
  }
}
