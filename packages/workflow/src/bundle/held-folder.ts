import { lstatSync, readdirSync, realpathSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Lock, takeLock } from "../disk/lock.ts";
import { makeTemporary } from "./child.ts";

const lockIn = (folder: string): string => join(folder, "lock");

/** Called before a folder is removed. */
type BeforeRemoval = (path: string) => Promise<void>;

/** A temporary folder. Its lock ends with this process, even if the process is killed. */
export class HeldFolder {
  /** Absolute, without links. */
  readonly path: string;
  readonly #lock: Lock;
  readonly #before: BeforeRemoval;

  private constructor(path: string, lock: Lock, before: BeforeRemoval) {
    this.path = path;
    this.#lock = lock;
    this.#before = before;
  }

  /** Makes a folder, and removes the folders of the same prefix that killed processes have left. */
  static async open(prefix: string, before: BeforeRemoval = async () => {}): Promise<HeldFolder> {
    for (const folder of leftovers(prefix)) await removeLeftover(folder, before);
    for (;;) {
      const path = realpathSync(makeTemporary(prefix));
      // Another process may take the new folder for a leftover before it is locked.
      const lock = takeLock(lockIn(path), 0);
      if (lock) return new HeldFolder(path, lock, before);
    }
  }

  /** Removes the folder with its content. */
  async remove(): Promise<void> {
    try {
      await this.#before(this.path);
      await rm(this.path, { recursive: true, force: true });
    } finally {
      this.#lock.release();
    }
  }
}

/** Runs a function with the path of a new held folder, then removes the folder. */
export async function inHeldFolder<T>(
  prefix: string,
  act: (path: string) => Promise<T>,
): Promise<T> {
  const folder = await HeldFolder.open(prefix);
  try {
    return await act(folder.path);
  } finally {
    await folder.remove();
  }
}

/** Returns this user's folders that have a lock. */
function leftovers(prefix: string): string[] {
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
async function removeLeftover(folder: string, before: BeforeRemoval): Promise<void> {
  try {
    const lock = takeLock(lockIn(folder), 0);
    if (!lock) return;
    try {
      await before(folder);
      await rm(folder, { recursive: true, force: true });
    } finally {
      lock.release();
    }
  } catch {
    // The next process tries again.
  }
}
