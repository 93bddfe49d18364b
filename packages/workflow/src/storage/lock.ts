import { dlopen, type Pointer, read } from "bun:ffi";
import { closeSync, constants, existsSync, fstatSync, statSync } from "node:fs";
import { WorkflowError } from "../contract/error.ts";
import { diskError, systemCode } from "./disk-error.ts";
import { openOwnFile } from "./files.ts";

const { O_CREAT, O_RDWR } = constants;
const pollMs = 2;

/** A lock that the operating system holds for this process until it is released or the process ends. */
export type Lock = { release(): void };

/**
 * Takes the lock that the file represents, or returns null when it is still held after `waitMs` milliseconds.
 *
 * It is `flock(2)`, which belongs to the file as it was opened here. However the process ends, the lock ends
 * with it; and whoever else opens and closes the file, be it a bundle in this process, releases nothing.
 *
 * Blocks the thread while it waits.
 * @throws WorkflowError `NOT_A_LOCK`; `NO_LOCKS` where the file system has none; those of the disk.
 */
export function takeLock(path: string, waitMs: number): Lock | null {
  const deadline = performance.now() + waitMs;
  for (;;) {
    const fd = open(path);
    const isLocked = lock(fd, path);
    // The file may have been removed since it was opened: then nothing was locked.
    if (isLocked && isAt(path, fd)) return { release: () => closeSync(fd) };
    closeSync(fd);
    if (isLocked) continue;
    if (performance.now() >= deadline) return null;
    Bun.sleepSync(pollMs);
  }
}

/**
 * Takes the lock when it is free, and leaves the thread to others while it waits: its owner may be this very
 * process. `onWait` is called at each turn and throws to give up.
 */
export async function waitForLock(path: string, onWait: () => void): Promise<Lock> {
  for (;;) {
    const taken = takeLock(path, 0);
    if (taken) return taken;
    onWait();
    await Bun.sleep(2 + Math.random() * 10);
  }
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

/** Locks an open file; false when someone else has it locked. */
function lock(fd: number, path: string): boolean {
  const { flock, errno } = (system ??= loadSystem());
  while (flock(fd, exclusive | nonBlocking) !== 0) {
    const code = errno();
    if (code === heldByOther) return false;
    if (code === interrupted) continue;
    closeSync(fd);
    throw WorkflowError.failed(
      "NO_LOCKS",
      `can't lock ${path}: its file system gives no locks (errno ${code})`,
      "put the storage root on a disk of this machine",
    );
  }
  return true;
}

function isAt(path: string, fd: number): boolean {
  try {
    return statSync(path).ino === fstatSync(fd).ino;
  } catch {
    return false;
  }
}

const notALock = (path: string): WorkflowError =>
  WorkflowError.failed(
    "NOT_A_LOCK",
    `${path} is no lock of ours`,
    "remove the file when no worker runs",
  );

// Neither Node nor Bun has flock(2). The locks of POSIX, which SQLite takes, belong to the process and are
// lost when any code in it closes the same file.
const isMac = process.platform === "darwin";
const exclusive = 2;
const nonBlocking = 4;
const interrupted = 4;
const heldByOther = isMac ? 35 : 11;

type System = { flock: (fd: number, operation: number) => number; errno: () => number };
let system: System | null = null;

function loadSystem(): System {
  const flock = { args: ["i32", "i32"], returns: "i32" } as const;
  const location = { args: [], returns: "ptr" } as const;
  if (isMac) {
    const { symbols } = dlopen("libSystem.B.dylib", { flock, __error: location });
    return { flock: symbols.flock, errno: () => errnoAt(symbols.__error()) };
  }
  const { symbols } = dlopen(libcOfLinux(), { flock, __errno_location: location });
  return { flock: symbols.flock, errno: () => errnoAt(symbols.__errno_location()) };
}

const errnoAt = (location: unknown): number => read.i32(location as Pointer, 0);

// That of musl has the machine in its name.
function libcOfLinux(): string {
  const musl = `libc.musl-${process.arch === "arm64" ? "aarch64" : "x86_64"}.so.1`;
  return ["/lib", "/usr/lib"].some((folder) => existsSync(`${folder}/${musl}`))
    ? musl
    : "libc.so.6";
}
