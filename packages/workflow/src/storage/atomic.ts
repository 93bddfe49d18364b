import { closeSync, constants, fsyncSync, openSync, renameSync, rmSync, writeSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { diskError } from "./disk-error.ts";

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants;

/** Writes all of the bytes: a system call may take only a part of them. */
export function writeAll(fd: number, bytes: Uint8Array): void {
  for (let done = 0; done < bytes.length; ) {
    done += writeSync(fd, bytes, done, bytes.length - done);
  }
}

/** Makes what was created, renamed or removed in a folder survive a loss of power. */
export function syncDir(folder: string): void {
  const fd = openSync(folder, constants.O_RDONLY);
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

/** Takes away what a failed write left, where that can be done: the failure itself is what matters. */
export function removeQuietly(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {
    // On a read-only disk nothing can be removed, also what is not there.
  }
}

/** The name that a file bears while it is being written. */
export function asideName(path: string): string {
  return join(dirname(path), `.${basename(path)}.${crypto.randomUUID().slice(0, 8)}.tmp`);
}

/**
 * Replaces a file so that a reader, or a crash, sees the old bytes or the new ones and nothing
 * between: written aside with mode 0600, synced, renamed, and the folder synced.
 *
 * @throws WorkflowError when the disk refuses; the old file then stands as it was.
 */
export function writeFileAtomic(path: string, content: Uint8Array | string): void {
  const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
  const aside = asideName(path);
  try {
    const fd = openSync(aside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
    try {
      writeAll(fd, bytes);
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
    renameSync(aside, path);
    syncDir(dirname(path));
  } catch (error) {
    removeQuietly(aside);
    throw diskError(error, "write", path);
  }
}
