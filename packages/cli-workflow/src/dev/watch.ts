import { type FSWatcher, statSync, watch } from "node:fs";
import { dirname } from "node:path";

/** Polling interval in milliseconds. Some file systems, such as network and container file systems, send no events. */
const lookEveryMs = 1_000;
/** A burst of saves ends `quietMs` after the last change, and at most `burstMs` after the first, in milliseconds. */
const quietMs = 40;
const burstMs = 400;

/** State of a file. It changes when the file is written, replaced, removed or created. */
type Stamp = string;

const gone: Stamp = "gone";
const unknown: Stamp = "";

/**
 * Watches files by comparing their states. System events only trigger the comparison. This also detects renames by
 * editors, files that are removed and restored, and replaced folders.
 */
export class SourceWatch {
  readonly #signal: AbortSignal;
  readonly #folders = new Map<string, { inode: number; watcher: FSWatcher }>();
  #stamps = new Map<string, Stamp>();
  #wake = Promise.withResolvers<boolean>();

  constructor(signal: AbortSignal) {
    this.#signal = signal;
    signal.addEventListener("abort", () => {
      for (const { watcher } of this.#folders.values()) watcher.close();
      this.#wake.resolve(true);
    });
  }

  /** Number of watched files. */
  get size(): number {
    return this.#stamps.size;
  }

  /** Records the state of the watched files, for later comparison. */
  mark(): void {
    for (const path of this.#stamps.keys()) this.#stamps.set(path, stampOf(path));
  }

  /**
   * Watches only these files, starting from their state at the last {@link mark}. A new file written after `since`
   * (milliseconds) counts as changed.
   */
  watch(paths: readonly string[], since: number): void {
    const stamped = (path: string): Stamp =>
      this.#stamps.get(path) ?? (writtenAt(path) < since ? stampOf(path) : unknown);
    this.#stamps = new Map(paths.map((path) => [path, stamped(path)]));
    this.#watchFolders();
  }

  /** Returns the watched files whose state has changed. */
  changes(): string[] {
    return [...this.#stamps].flatMap(([path, stamp]) => (stampOf(path) === stamp ? [] : [path]));
  }

  /** Resolves with the changed files after a burst of changes; with an empty list once the signal is aborted. */
  async changed(): Promise<string[]> {
    while (!this.#signal.aborted && this.changes().length === 0) {
      await this.#isRoused(lookEveryMs);
      this.#watchFolders();
    }
    for (const end = Date.now() + burstMs; Date.now() < end && !this.#signal.aborted; ) {
      if (!(await this.#isRoused(quietMs))) break;
    }
    return this.#signal.aborted ? [] : this.changes();
  }

  /** Waits for an event for at most `atMostMs` milliseconds. Returns whether an event arrived. */
  async #isRoused(atMostMs: number): Promise<boolean> {
    const wake = this.#wake;
    const timer = setTimeout(() => wake.resolve(false), atMostMs);
    const isRoused = await wake.promise;
    clearTimeout(timer);
    this.#wake = Promise.withResolvers();
    return isRoused;
  }

  #watchFolders(): void {
    const wanted = new Set([...this.#stamps.keys()].map((path) => dirname(path)));
    for (const [folder, { inode, watcher }] of this.#folders) {
      if (wanted.has(folder) && inodeOf(folder) === inode) continue;
      watcher.close();
      this.#folders.delete(folder);
    }
    for (const folder of wanted) {
      const inode = inodeOf(folder);
      if (inode === null || this.#folders.has(folder)) continue;
      try {
        const watcher = watch(folder, () => this.#wake.resolve(true));
        watcher.on("error", () => this.#folders.delete(folder));
        this.#folders.set(folder, { inode, watcher });
      } catch {
        // Polling covers folders that can't be watched.
      }
    }
  }
}

const statOf = (path: string) => {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
};

const inodeOf = (path: string): number | null => statOf(path)?.ino ?? null;
const writtenAt = (path: string): number => statOf(path)?.mtimeMs ?? 0;

function stampOf(path: string): Stamp {
  const found = statOf(path);
  return found ? `${found.ino} ${found.size} ${found.mtimeMs} ${found.ctimeMs}` : gone;
}
