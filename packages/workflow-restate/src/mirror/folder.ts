import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Lock, takeLock } from "@uncaged/workflow/internal";

const prefix = "uncaged-cluster-";
const mostTries = 20;

/**
 * A temporary folder for what a process reads of a cluster. It is gone when it is removed or the process ends; one whose
 * process was killed is removed by the next that makes one. The lock in it shows which is which.
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
    // Another process may have taken it for one that was left, between the two.
    if (lock || (existsSync(path) && tries === mostTries)) return { path, lock };
    rmSync(path, { recursive: true, force: true });
  }
}

/** The lock of a folder; null when somebody has it, or where there are no locks: then none is removed either. */
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
