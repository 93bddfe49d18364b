import { Database } from "bun:sqlite";
import { closeSync, constants, lstatSync, openSync, type Stats, statSync } from "node:fs";
import { failedError, type WorkflowError } from "../contract/error.ts";
import { diskError, systemCode } from "./disk-error.ts";

const { O_CREAT, O_EXCL, O_RDWR } = constants;

// A database that nothing refers to is collected, and its lock ends with it.
const held = new Set<Database>();

/** A lock that the operating system holds for this process until it is released or the process ends. */
export type Lock = { release(): void };

/**
 * Takes the lock that the file represents, or returns null when another process still holds it after
 * `waitMs` milliseconds. The lock is an exclusive SQLite transaction: SQLite knows each platform's
 * file locks, and they go with the process however it ends, so no stale lock can exist.
 *
 * Blocks the thread while it waits.
 */
export function takeLock(path: string, waitMs: number): Lock | null {
  const deadline = Date.now() + waitMs;
  for (;;) {
    const inode = prepare(path);
    const db = begin(path, Math.max(0, deadline - Date.now()));
    if (!db) return null;
    // The file may have been removed between our look at it and the lock: then we locked nothing.
    if (inodeOf(path) !== inode) {
      db.close();
      continue;
    }
    held.add(db);
    return {
      release() {
        held.delete(db);
        db.close();
      },
    };
  }
}

function begin(path: string, waitMs: number): Database | null {
  const db = new Database(path, { create: true, readwrite: true });
  try {
    db.run(`PRAGMA busy_timeout=${waitMs}`);
    db.run("PRAGMA journal_mode=MEMORY");
    db.run("BEGIN EXCLUSIVE");
    return db;
  } catch (error) {
    db.close();
    if (systemCode(error)?.startsWith("SQLITE_BUSY")) return null;
    if (systemCode(error) === "SQLITE_NOTADB") throw notALock(path);
    throw diskError(error, "lock", path);
  }
}

function prepare(path: string): number {
  try {
    const found = lstatSync(path, { throwIfNoEntry: false }) ?? create(path);
    if (!found.isFile()) throw notALock(path);
    return found.ino;
  } catch (error) {
    throw diskError(error, "open the lock", path);
  }
}

// A file that exists is never opened here: closing any descriptor of a file drops all the POSIX locks
// that this process has on it.
function create(path: string): Stats {
  try {
    closeSync(openSync(path, O_RDWR | O_CREAT | O_EXCL, 0o600));
  } catch (error) {
    if (systemCode(error) !== "EEXIST") throw error;
  }
  return lstatSync(path);
}

function inodeOf(path: string): number | null {
  try {
    return statSync(path).ino;
  } catch {
    return null;
  }
}

function notALock(path: string): WorkflowError {
  return failedError(
    "NOT_A_LOCK",
    `${path} is no lock of ours`,
    "remove the file when no worker runs",
  );
}
