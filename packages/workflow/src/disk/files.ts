import { basename, dirname, join } from "node:path";
import { WorkflowError } from "../contract/error.ts";
import {
  O_APPEND,
  O_CREAT,
  O_EXCL,
  O_NOFOLLOW,
  O_NONBLOCK,
  O_RDONLY,
  O_RDWR,
  O_WRONLY,
} from "../system/port.ts";
import { system } from "../system/system.ts";
import { diskError, systemCode } from "./disk-error.ts";

/**
 * Opens a file of the storage root, made with mode 0600 where the flags say so. Follows no symbolic
 * link, waits at no FIFO and takes nothing but a plain file; for writing, one without a second name.
 * @throws the system's error; `ENXIO` when it is no such file.
 */
export function openOwnFile(path: string, flags: number): number {
  const { files } = system;
  const fd = files.open(path, flags | O_NOFOLLOW | O_NONBLOCK);
  const found = files.statOpen(fd);
  const writes = (flags & (O_WRONLY | O_RDWR)) !== 0;
  if (found.isFile() && (!writes || found.nlink <= 1)) return fd;
  files.close(fd);
  throw notPlain();
}

/** What opening a file fails with that is no plain file, or has a second name. */
export const notPlain = (): Error =>
  Object.assign(new Error("not a plain file with one name"), { code: "ENXIO" });

/** Has a file of the storage root used while it is open, for reading without `flags`. */
export function withFile<T>(path: string, use: (fd: number) => T, flags = O_RDONLY): T {
  const fd = openOwnFile(path, flags);
  try {
    return use(fd);
  } finally {
    system.files.close(fd);
  }
}

/** What is read of a file while it is open; nothing when it is not there. */
export function* whileOpen<T>(path: string, read: (fd: number) => Iterable<T>): Generator<T> {
  const fd = ifThere(() => openOwnFile(path, O_RDONLY));
  if (fd === null) return;
  try {
    yield* read(fd);
  } finally {
    system.files.close(fd);
  }
}

/** What `read` gives; null when the file that it reads is not there. */
export function ifThere<T>(read: () => T): T | null {
  try {
    return read();
  } catch (error) {
    if (systemCode(error) === "ENOENT") return null;
    throw error;
  }
}

/** The length of an open file in bytes. */
export const sizeOf = (fd: number): number => system.files.statOpen(fd).size;

/** Fills a buffer from a position on; gives how many bytes there were. */
export function readFully(fd: number, buffer: Uint8Array, position: number): number {
  let length = 0;
  while (length < buffer.length) {
    const n = system.files.read(fd, buffer, length, position + length);
    if (n === 0) break;
    length += n;
  }
  return length;
}

/** The byte at a position; undefined behind the end. */
export function byteAt(fd: number, position: number): number | undefined {
  const byte = Buffer.alloc(1);
  return system.files.read(fd, byte, 0, position) === 1 ? byte[0] : undefined;
}

/** Writes all of the bytes: a system call may take only a part of them. */
export function writeAll(fd: number, bytes: Uint8Array): void {
  for (let done = 0; done < bytes.length; ) {
    done += system.files.write(fd, bytes, done);
  }
}

const newline = 10;

/**
 * Appends whole lines, without a sync; behind a line of its own for what a crash left half written. Gives
 * the position at which they begin; null when the file would get longer than `largest` bytes. What can't
 * be written wholly is taken back.
 * @throws the system's error.
 */
export function appendLines(path: string, lines: Uint8Array, largest: number): number | null {
  const append = (fd: number): number | null => {
    const size = sizeOf(fd);
    const isTorn = size > 0 && byteAt(fd, size - 1) !== newline;
    const start = isTorn ? size + 1 : size;
    if (start + lines.length > largest) return null;
    try {
      if (isTorn) writeAll(fd, Uint8Array.of(newline));
      writeAll(fd, lines);
      return start;
    } catch (error) {
      system.files.truncate(fd, size);
      throw error;
    }
  };
  return withFile(path, append, O_RDWR | O_APPEND | O_CREAT);
}

/**
 * Makes a folder, mode 0700, and those above it. On return its name is on the disk, also when another process has
 * made it and ended before it could sync. What is in a folder therefore shows that those above it are durable.
 */
export function makeFolder(folder: string): void {
  try {
    makeOne(folder);
  } catch (error) {
    throw diskError(error, "make the folder", folder);
  }
}

function makeOne(folder: string): void {
  const parent = dirname(folder);
  if (!system.files.exists(parent)) makeOne(parent);
  const made = system.files.makeFolder(folder);
  syncParent(parent, made !== undefined);
}

// A folder that somebody else has made may be in one that this user can't read.
function syncParent(parent: string, isOurs: boolean): void {
  try {
    system.files.syncFolder(parent);
  } catch (error) {
    if (isOurs || !["EACCES", "EPERM"].includes(systemCode(error) ?? "")) throw error;
  }
}

/** Removes a file; one that is not there is removed. @throws WorkflowError those of the disk. */
export function removeFile(path: string): void {
  try {
    system.files.remove(path);
  } catch (error) {
    throw diskError(error, "remove", path);
  }
}

/** Makes what is named in a folder durable, whoever has named it. @throws WorkflowError those of the disk. */
export function syncFolder(folder: string): void {
  try {
    system.files.syncFolder(folder);
  } catch (error) {
    throw diskError(error, "sync", folder);
  }
}

/** Removes what a failed write left, where that can be done: the failure itself is what matters. */
export function removeQuietly(path: string, isSynced = false): void {
  try {
    system.files.remove(path);
    if (isSynced) system.files.syncFolder(dirname(path));
  } catch {
    // On a read-only disk nothing can be removed, also what is not there.
  }
}

/** The name that a file has while it is being written. */
export function asideName(path: string): string {
  const mark = Math.floor(system.random() * 2 ** 32).toString(16);
  return join(dirname(path), `.${basename(path)}.${mark.padStart(8, "0")}.tmp`);
}

/** How a file is opened that must not be there yet. */
export const onlyNew = O_WRONLY | O_CREAT | O_EXCL;
const bytesOf = (content: Uint8Array | string): Uint8Array =>
  typeof content === "string" ? Buffer.from(content) : content;

/**
 * Replaces a file so that a reader, or a crash, sees the old bytes or the new ones and nothing
 * between: written aside with mode 0600, synced, renamed, and the folder synced.
 * @throws WorkflowError when the disk refuses; the old file is then as it was.
 */
export function writeFileAtomic(path: string, content: Uint8Array | string): void {
  const aside = asideName(path);
  const write = (fd: number) => {
    writeAll(fd, bytesOf(content));
    system.files.sync(fd);
  };
  try {
    withFile(aside, write, onlyNew);
    system.files.rename(aside, path);
    system.files.syncFolder(dirname(path));
  } catch (error) {
    removeQuietly(aside);
    throw diskError(error, "write", path);
  }
}

const pieceBytes = 1024 * 1024;

/** Makes a file what another one is, as {@link writeFileAtomic} does. @throws WorkflowError those of the disk. */
export function copyFileAtomic(from: string, path: string): void {
  const aside = asideName(path);
  const copy = (source: number) => {
    withFile(
      aside,
      (fd) => {
        const piece = Buffer.alloc(pieceBytes);
        for (let done = 0, length = 1; length > 0; done += length) {
          length = readFully(source, piece, done);
          writeAll(fd, piece.subarray(0, length));
        }
        system.files.sync(fd);
      },
      onlyNew,
    );
  };
  try {
    withFile(from, copy);
    system.files.rename(aside, path);
    system.files.syncFolder(dirname(path));
  } catch (error) {
    removeQuietly(aside);
    throw diskError(error, "write", path);
  }
}

/** As {@link writeFileAtomic}; its bytes are synced on another thread of the system's. */
export async function writeFileLater(path: string, content: Uint8Array | string): Promise<void> {
  const { files } = system;
  const aside = asideName(path);
  try {
    const fd = openOwnFile(aside, onlyNew);
    try {
      writeAll(fd, bytesOf(content));
      await files.syncDataLater(fd);
    } finally {
      files.close(fd);
    }
    files.rename(aside, path);
    files.syncFolder(dirname(path));
  } catch (error) {
    removeQuietly(aside);
    throw diskError(error, "write", path);
  }
}

/**
 * Reads a small file of the storage root, or gives null when it is not there. It never holds more than
 * `maxBytes`.
 * @throws WorkflowError `NOT_A_FILE`, `NOT_OURS`, `FILE_TOO_LARGE`, `PLANTED_LINK` and those of the disk.
 */
export function readOwnFile(path: string, maxBytes: number): Uint8Array<ArrayBuffer> | null {
  const read = (fd: number) => {
    const { size, uid } = system.files.statOpen(fd);
    if (process.geteuid && uid !== process.geteuid()) {
      throw notOurs("NOT_OURS", `${path} belongs to another user`);
    }
    if (size > maxBytes) {
      throw notOurs("FILE_TOO_LARGE", `${path} has ${size} bytes, ${maxBytes} are the most`);
    }
    const bytes = new Uint8Array(size);
    return bytes.subarray(0, readFully(fd, bytes, 0));
  };
  try {
    return ifThere(() => withFile(path, read));
  } catch (error) {
    throw diskError(error, "read", path);
  }
}

const notOurs = (code: string, message: string) =>
  WorkflowError.failed(code, message, "move it away if you did not make it");
