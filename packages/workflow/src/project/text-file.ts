import { diskError, systemCode } from "../disk/disk-error.ts";
import { readFully } from "../disk/files.ts";
import { O_NONBLOCK, O_RDONLY } from "../system/port.ts";
import { system } from "../system/system.ts";
import { notATextFile, notUtf8, projectNotOurs, textTooLarge } from "./errors.ts";

const mostBytes = 1024 * 1024;

/** Error codes of a missing file. */
const absent = ["ENOENT", "ENOTDIR", "ENAMETOOLONG"];

/**
 * Reads a user's text file; null when it is missing. Does not block on a FIFO.
 * @throws WorkflowError `PROJECT_NOT_OURS` when it belongs to another user except root; `NOT_A_FILE`,
 * `FILE_TOO_LARGE`, `NOT_A_TEXT`; the errors of the disk.
 */
export function readTextFile(path: string): string | null {
  const { files } = system;
  let fd: number;
  try {
    fd = files.open(path, O_RDONLY | O_NONBLOCK);
  } catch (error) {
    // A file in a folder without search permission counts as missing.
    const isHidden = systemCode(error) === "EACCES" && !files.exists(path);
    if (isHidden || absent.includes(systemCode(error) ?? "")) return null;
    throw diskError(error, "read", path);
  }
  try {
    return textOf(fd, path);
  } catch (error) {
    throw diskError(error, "read", path);
  } finally {
    files.close(fd);
  }
}

function textOf(fd: number, path: string): string {
  const found = system.files.statOpen(fd);
  if (!found.isFile()) throw notATextFile(path);
  if (!isTrusted(found.uid)) throw projectNotOurs(path);
  if (found.size > mostBytes) throw textTooLarge(path, mostBytes);
  const bytes = new Uint8Array(found.size);
  const length = readFully(fd, bytes, 0);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes.subarray(0, length));
  } catch {
    throw notUtf8(path);
  }
}

// In a container, root sees files of other users and must trust them.
function isTrusted(uid: number): boolean {
  const own = process.geteuid?.() ?? 0;
  return own === 0 || uid === 0 || uid === own;
}
