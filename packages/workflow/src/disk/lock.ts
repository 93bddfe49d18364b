import type { WorkflowError } from "../contract/error.ts";
import { O_CREAT, O_RDONLY, O_RDWR } from "../system/port.ts";
import { system } from "../system/system.ts";
import { diskError, systemCode } from "./disk-error.ts";
import { openOwnFile } from "./files.ts";
import { noLocks, notALock } from "./errors.ts";

const pollMs = 2;

/** A lock that the operating system holds for this process until it is released or the process ends. */
export type Lock = { release(): void };

/**
 * Locks a file; returns null when another holder still has the lock after `waitMs` milliseconds.
 *
 * Uses `flock(2)`: the lock belongs to the open file. It always ends with the process. Other opens and closes of the
 * file, also by a bundle in this process, do not release it.
 *
 * Blocks the event loop while it waits.
 * @throws WorkflowError `NOT_A_LOCK`; `NO_LOCKS` if the file system does not support locks; the errors of the disk.
 */
export function takeLock(path: string, waitMs: number): Lock | null {
  const deadline = system.clock.elapsed() + waitMs;
  for (;;) {
    const fd = open(path);
    const isLocked = lock(fd, path);
    // The lock is useless if the file was removed after the open: other processes lock a new file.
    if (isLocked && isAt(path, fd)) return { release: () => system.files.close(fd) };
    system.files.close(fd);
    if (isLocked) continue;
    if (system.clock.elapsed() >= deadline) return null;
    system.clock.sleepSync(pollMs);
  }
}

/**
 * Waits for a lock without blocking the event loop, because this process may hold the lock. Calls `onWait` before each
 * retry; `onWait` throws to give up.
 */
export async function waitForLock(path: string, onWait: () => void): Promise<Lock> {
  for (;;) {
    const taken = takeLock(path, 0);
    if (taken) return taken;
    onWait();
    await system.clock.sleep(2 + system.random() * 10);
  }
}

/** Checks that the file system of a folder supports locks. Changes nothing. @throws WorkflowError `NO_LOCKS`. */
export function requireLocks(folder: string): void {
  const fd = system.files.open(folder, O_RDONLY);
  try {
    lock(fd, folder);
  } catch (error) {
    // A network file system locks only files opened for writing, and a folder can't be opened for writing.
    if (systemCode((error as WorkflowError).cause) === "EBADF") return;
    throw error;
  }
  system.files.close(fd);
}

function open(path: string): number {
  try {
    return openOwnFile(path, O_RDWR | O_CREAT);
  } catch (error) {
    const code = systemCode(error) ?? "";
    throw ["ELOOP", "ENXIO", "EISDIR"].includes(code)
      ? notALock(path)
      : diskError(error, "open the lock", path);
  }
}

/** Locks an open file; returns false when it is already locked. */
function lock(fd: number, path: string): boolean {
  try {
    return system.files.lock(fd);
  } catch (error) {
    system.files.close(fd);
    throw noLocks(path, systemCode(error), error);
  }
}

function isAt(path: string, fd: number): boolean {
  try {
    return system.files.stat(path)?.ino === system.files.statOpen(fd).ino;
  } catch {
    return false;
  }
}
