import { lstatSync, readdirSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { type Host, openLocalHost } from "@uncaged/workflow/host";
import { type Lock, makeTemporary, takeLock } from "@uncaged/workflow/internal";

const prefix = "uncaged-bisect-";
const rootIn = (folder: string): string => join(folder, "root");
const lockIn = (folder: string): string => join(folder, "lock");

/** A temporary folder with a storage root. Its lock ends with this process, even if the process is killed. */
export class TrialFolder {
  readonly root: string;
  readonly #path: string;
  readonly #lock: Lock;

  private constructor(path: string, lock: Lock) {
    this.#path = path;
    this.#lock = lock;
    this.root = rootIn(path);
  }

  /** Makes a folder, and removes the folders that killed processes have left. */
  static async open(): Promise<TrialFolder> {
    for (const folder of leftovers()) await removeLeftover(folder);
    for (;;) {
      const path = makeTemporary(prefix);
      // Another process may take the new folder for a leftover before it is locked.
      const lock = takeLock(lockIn(path), 0);
      if (lock) return new TrialFolder(path, lock);
    }
  }

  /** Ends the workers of the root, and removes the folder. */
  async remove(host: Host): Promise<void> {
    await endWorkers(host);
    await host.close();
    await rm(this.#path, { recursive: true, force: true });
    this.#lock.release();
  }
}

/** Returns this user's folders that have a lock. */
function leftovers(): string[] {
  const isOwn = (path: string): boolean => {
    const found = lstatSync(path, { throwIfNoEntry: false });
    return found !== undefined && found.uid === process.getuid?.();
  };
  try {
    const entries = readdirSync(tmpdir(), { withFileTypes: true });
    return entries
      .filter((entry) => entry.isDirectory() && entry.name.startsWith(prefix))
      .map(({ name }) => join(tmpdir(), name))
      .filter((folder) => isOwn(folder) && isOwn(lockIn(folder)));
  } catch {
    return [];
  }
}

/** Removes a folder unless a process holds its lock. Keeps a folder that can't be removed. */
async function removeLeftover(folder: string): Promise<void> {
  try {
    const lock = takeLock(lockIn(folder), 0);
    if (!lock) return;
    const host = openLocalHost({ path: rootIn(folder), env: {} });
    try {
      await endWorkers(host);
      await rm(folder, { recursive: true, force: true });
    } finally {
      await host.close();
      lock.release();
    }
  } catch {
    // The next process tries again.
  }
}

async function endWorkers(host: Host): Promise<void> {
  const workers = (await host.workers()).flatMap(({ pid }) => pid ?? []);
  for (const pid of workers) end(pid);
  while (workers.some(isAlive)) await pause(20);
}

function end(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // The process has ended meanwhile.
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
