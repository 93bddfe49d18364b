import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Lock, takeLock } from "@uncaged/workflow/internal";

const prefix = "uncaged-cluster-";
const mostTries = 20;

/**
 * Temporary folder for the copies that a process reads from a cluster. The process deletes the folder at its end. The
 * next process that creates a folder deletes the folders of killed processes. A lock marks a folder in use.
 */
export class TemporaryFolder {
  readonly path: string;
  readonly #lock: Lock | null;

  constructor(parent: string = tmpdir()) {
    removeLeft(parent);
    const { path, lock } = create(parent);
    this.path = path;
    this.#lock = lock;
    process.once("exit", this.remove);
  }

  readonly remove = (): void => {
    process.off("exit", this.remove);
    rmSync(this.path, { recursive: true, force: true });
    this.#lock?.release();
  };
}

const lockOf = (folder: string): string => join(folder, "lock");

function create(parent: string): { path: string; lock: Lock | null } {
  for (let tries = 1; ; tries += 1) {
    const path = mkdtempSync(join(parent, prefix));
    const lock = locked(path);
    // Between the two calls another process may have deleted the folder as a leftover.
    if (lock || (existsSync(path) && tries === mostTries)) return { path, lock };
    rmSync(path, { recursive: true, force: true });
  }
}

/** Locks a folder; null when it is locked, or when the file system has no locks. */
function locked(folder: string): Lock | null {
  try {
    return takeLock(lockOf(folder), 0);
  } catch {
    return null;
  }
}

function removeLeft(parent: string): void {
  for (const name of readdirSync(parent)) {
    const folder = join(parent, name);
    if (!name.startsWith(prefix) || !existsSync(lockOf(folder))) continue;
    const lock = locked(folder);
    if (lock) rmSync(folder, { recursive: true, force: true });
    lock?.release();
  }
}
