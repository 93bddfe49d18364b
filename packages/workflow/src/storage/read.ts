import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { WorkflowError } from "../contract/error.ts";
import { diskError, systemCode } from "./disk-error.ts";

const { O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_RDWR, O_WRONLY } = constants;

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
  return new WorkflowError({
    code,
    kind: "failed",
    message,
    hint: "move it away if you did not make it",
  });
}
