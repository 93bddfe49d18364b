import { type FSWatcher, watch } from "node:fs";
import { loggedHashes } from "../storage/list.ts";
import { isHash, isThreadId } from "../storage/names.ts";
import { logsDir, type Root, threadsDir } from "../storage/paths.ts";
import type { ThreadRef } from "../thread/thread.ts";

const ofLog = /^(.+)\.data\.jsonl$/;
const ofBoth = /^(.+)\.(?:data|info)\.jsonl$/;

/**
 * Calls back when the log of any thread of a storage root has changed, with `events` its debug log too,
 * as far as the system tells of it: look through the list of threads now and then all the same.
 */
export class StoreWatch {
  readonly #root: Root;
  readonly #onThread: (ref: ThreadRef) => void;
  readonly #file: RegExp;
  readonly #folders = new Map<string, FSWatcher>();

  constructor(root: Root, onThread: (ref: ThreadRef) => void, { events = false } = {}) {
    this.#root = root;
    this.#file = events ? ofBoth : ofLog;
    this.#onThread = onThread;
    this.ensure();
  }

  /** Watches the folders that have come since. */
  ensure(): void {
    this.#add("", logsDir(this.#root), (name) => {
      if (isHash(name)) this.ensure();
    });
    for (const hash of this.#hashes()) {
      this.#add(hash, threadsDir(this.#root, hash), (name) => {
        const [, threadId = ""] = this.#file.exec(name) ?? [];
        if (isThreadId(threadId)) this.#onThread({ hash, threadId });
      });
    }
  }

  close(): void {
    for (const watcher of this.#folders.values()) watcher.close();
    this.#folders.clear();
  }

  #hashes(): string[] {
    try {
      return loggedHashes(this.#root);
    } catch {
      // What can't be read now may be read when it is called next.
      return [];
    }
  }

  #add(key: string, folder: string, onName: (name: string) => void): void {
    if (this.#folders.has(key)) return;
    const forget = () => this.#folders.delete(key);
    try {
      const watcher = watch(folder, { persistent: false }, (_event, name) => {
        if (name !== null) onName(name);
      });
      this.#folders.set(key, watcher.on("error", forget));
    } catch {
      // It is not there yet, is gone, or can't be watched: the next call tries again.
    }
  }
}
