import { basename, dirname, join } from "node:path";
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
import { fileNotOurs, fileTooLarge } from "./errors.ts";

/**
 * Opens a file of the storage root, and with `O_CREAT` creates it with mode 0600. Does not follow a symbolic link, does
 * not wait for a FIFO, and accepts only a regular file; for writing, only a file without additional hard links.
 * @throws the system's error; `ENXIO` for any other kind of file.
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

/** Error for a file that is not regular, or has additional hard links. */
export const notPlain = (): Error =>
  Object.assign(new Error("not a regular file with one name"), { code: "ENXIO" });

/** Opens a file of the storage root, by default for reading, calls `use` with its descriptor and closes it. */
export function withFile<T>(path: string, use: (fd: number) => T, flags = O_RDONLY): T {
  const fd = openOwnFile(path, flags);
  try {
    return use(fd);
  } finally {
    system.files.close(fd);
  }
}

/** Yields the items that `read` reads from a file; nothing when the file is missing. */
export function* whileOpen<T>(path: string, read: (fd: number) => Iterable<T>): Generator<T> {
  const fd = ifThere(() => openOwnFile(path, O_RDONLY));
  if (fd === null) return;
  try {
    yield* read(fd);
  } finally {
    system.files.close(fd);
  }
}

/** Returns the result of `read`; null when its file is missing. */
export function ifThere<T>(read: () => T): T | null {
  try {
    return read();
  } catch (error) {
    if (systemCode(error) === "ENOENT") return null;
    throw error;
  }
}

/** Returns the length of an open file in bytes. */
export const sizeOf = (fd: number): number => system.files.statOpen(fd).size;

/** Fills a buffer from a position in a file; returns the number of bytes read. */
export function readFully(fd: number, buffer: Uint8Array, position: number): number {
  let length = 0;
  while (length < buffer.length) {
    const n = system.files.read(fd, buffer, length, position + length);
    if (n === 0) break;
    length += n;
  }
  return length;
}

/** Returns the byte at a position; undefined after the end. */
export function byteAt(fd: number, position: number): number | undefined {
  const byte = Buffer.alloc(1);
  return system.files.read(fd, byte, 0, position) === 1 ? byte[0] : undefined;
}

/** Writes all bytes: one system call may write only a part of them. */
export function writeAll(fd: number, bytes: Uint8Array): void {
  for (let done = 0; done < bytes.length; ) {
    done += system.files.write(fd, bytes, done);
  }
}

const newline = 10;

/**
 * Appends whole lines, without a sync. Starts a new line if a crash left a partial line. Returns the position of the
 * first line; null when the file would exceed `largest` bytes. Undoes a partial write.
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
 * Makes a folder with mode 0700, and its parents. The folder's name is durable on return, even when another process
 * made the folder and ended before its sync. So the existence of a file proves that its folders are durable.
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

// An existing folder may be in an unreadable folder of another user: ignore this error.
function syncParent(parent: string, isOurs: boolean): void {
  try {
    system.files.syncFolder(parent);
  } catch (error) {
    if (isOurs || !["EACCES", "EPERM"].includes(systemCode(error) ?? "")) throw error;
  }
}

/** Removes a file, if it exists. @throws WorkflowError the errors of the disk. */
export function removeFile(path: string): void {
  try {
    system.files.remove(path);
  } catch (error) {
    throw diskError(error, "remove", path);
  }
}

/**
 * Makes the names in a folder durable, including names created by other processes.
 * @throws WorkflowError the errors of the disk.
 */
export function syncFolder(folder: string): void {
  try {
    system.files.syncFolder(folder);
  } catch (error) {
    throw diskError(error, "sync", folder);
  }
}

/** Removes a file if possible, such as the remains of a failed write. Ignores errors. */
export function removeQuietly(path: string, isSynced = false): void {
  try {
    system.files.remove(path);
    if (isSynced) system.files.syncFolder(dirname(path));
  } catch {
    // The remaining file does no harm.
  }
}

/** Returns the temporary name of a file during its write. */
export function asideName(path: string): string {
  const mark = Math.floor(system.random() * 2 ** 32).toString(16);
  return join(dirname(path), `.${basename(path)}.${mark.padStart(8, "0")}.tmp`);
}

/** Flags to create a file that must not exist yet. */
export const onlyNew = O_WRONLY | O_CREAT | O_EXCL;
const bytesOf = (content: Uint8Array | string): Uint8Array =>
  typeof content === "string" ? Buffer.from(content) : content;

/**
 * Replaces a file atomically: readers see either the old bytes or the new bytes, even after a crash. Writes a temporary
 * file with mode 0600, syncs it, renames it and syncs the folder.
 * @throws WorkflowError the errors of the disk; the old file is then unchanged.
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

/** Copies a file atomically, like {@link writeFileAtomic}. @throws WorkflowError the errors of the disk. */
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

/** Replaces a file like {@link writeFileAtomic}, but syncs on a thread of the system's pool. */
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
 * Reads a file of at most `maxBytes` of the storage root; null when it is missing.
 * @throws WorkflowError `NOT_A_FILE`, `NOT_OURS`, `FILE_TOO_LARGE`, `PLANTED_LINK` and the errors of the disk.
 */
export function readOwnFile(path: string, maxBytes: number): Uint8Array<ArrayBuffer> | null {
  const read = (fd: number) => {
    const { size, uid } = system.files.statOpen(fd);
    if (process.geteuid && uid !== process.geteuid()) throw fileNotOurs(path);
    if (size > maxBytes) throw fileTooLarge(path, size, maxBytes);
    const bytes = new Uint8Array(size);
    return bytes.subarray(0, readFully(fd, bytes, 0));
  };
  try {
    return ifThere(() => withFile(path, read));
  } catch (error) {
    throw diskError(error, "read", path);
  }
}
