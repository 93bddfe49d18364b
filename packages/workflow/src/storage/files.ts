import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  writeSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { WorkflowError, failedError } from "../contract/error.ts";
import { diskError, systemCode } from "./disk-error.ts";

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_RDWR, O_WRONLY } = constants;

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

/** The name that a file has while it is being written. */
export function asideName(path: string): string {
  return join(dirname(path), `.${basename(path)}.${crypto.randomUUID().slice(0, 8)}.tmp`);
}

/**
 * Replaces a file so that a reader, or a crash, sees the old bytes or the new ones and nothing
 * between: written aside with mode 0600, synced, renamed, and the folder synced.
 *
 * @throws WorkflowError when the disk refuses; the old file is then as it was.
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

/**
 * Opens a file of the storage root, made with mode 0600 where the flags say so. Follows no symbolic
 * link, waits at no FIFO and takes nothing but a plain file; for writing, one without a second name.
 *
 * @throws the system's error; `ENXIO` when it is no such file.
 */
export function openOwnFile(path: string, flags: number): number {
  const fd = openSync(path, flags | O_NOFOLLOW | O_NONBLOCK, 0o600);
  const found = fstatSync(fd);
  const writes = (flags & (O_WRONLY | O_RDWR)) !== 0;
  if (found.isFile() && (!writes || found.nlink === 1)) return fd;
  closeSync(fd);
  throw Object.assign(new Error("not a plain file with one name"), { code: "ENXIO" });
}

/**
 * Reads a small file of the storage root, or gives null when it is not there. Follows no symbolic
 * link, waits at no FIFO, and never holds more than `maxBytes`.
 *
 * @throws WorkflowError `NOT_A_FILE`, `FILE_TOO_LARGE`, `PLANTED_LINK` and those of the disk.
 */
export function readOwnFile(path: string, maxBytes: number): Uint8Array<ArrayBuffer> | null {
  let fd: number;
  try {
    fd = openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  } catch (error) {
    if (systemCode(error) === "ENOENT") return null;
    throw diskError(error, "read", path);
  }
  try {
    return readOpen(fd, path, maxBytes);
  } catch (error) {
    throw error instanceof WorkflowError ? error : diskError(error, "read", path);
  } finally {
    closeSync(fd);
  }
}

function readOpen(fd: number, path: string, maxBytes: number): Uint8Array<ArrayBuffer> {
  const { size, uid, isFile } = statOf(fd);
  if (!isFile) throw refuse("NOT_A_FILE", `${path} is no file`);
  if (process.geteuid && uid !== process.geteuid()) {
    throw refuse("NOT_OURS", `${path} belongs to another user`);
  }
  if (size > maxBytes) {
    throw refuse("FILE_TOO_LARGE", `${path} has ${size} bytes, ${maxBytes} are the most`);
  }
  const bytes = new Uint8Array(size);
  let done = 0;
  while (done < size) {
    const length = readSync(fd, bytes, done, size - done, done);
    if (length === 0) break;
    done += length;
  }
  return bytes.subarray(0, done);
}

function statOf(fd: number): { size: number; uid: number; isFile: boolean } {
  const found = fstatSync(fd);
  return { size: found.size, uid: found.uid, isFile: found.isFile() };
}

function refuse(code: string, message: string): WorkflowError {
  return failedError(code, message, "move it away if you did not make it");
}
