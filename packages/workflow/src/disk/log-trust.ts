/** Codes of errors that prevent the continuation of a log for a reason other than a disk failure. */
export const refusals: ReadonlySet<string> = new Set([
  "THREAD_NOT_FOUND",
  "LOG_CORRUPT",
  "NEWER_LOG",
  "THREAD_MOVED",
]);

/**
 * Tracks suspect logs. The page cache may have bytes of a suspect log that are not on the disk, so a process must renew
 * the log before it continues it. A log is suspect if a sync of it failed, or with `distrustsCache` until the process
 * has claimed or renewed it.
 */
export class LogTrust {
  readonly #distrustsCache: boolean;
  readonly #unsynced = new Set<string>();
  readonly #trusted = new Set<string>();

  constructor(distrustsCache = false) {
    this.#distrustsCache = distrustsCache;
  }

  /** Whether a log is still unsynced after a failed sync, so that the next process must not trust the page cache. */
  get hasUnsynced(): boolean {
    return this.#unsynced.size > 0;
  }

  /** Returns whether a log must be renewed before it is continued. */
  isSuspect(threadId: string): boolean {
    return this.#unsynced.has(threadId) || (this.#distrustsCache && !this.#trusted.has(threadId));
  }

  /** Records that a sync of a log failed. */
  doubt(threadId: string): void {
    this.#unsynced.add(threadId);
  }

  /** Records that this process has claimed a log. */
  claimed(threadId: string): void {
    this.#trusted.add(threadId);
  }

  /** Records that this process has renewed a log. */
  renewed(threadId: string): void {
    this.#unsynced.delete(threadId);
    this.#trusted.add(threadId);
  }

  /** Forgets a failed sync of a removed log. */
  removed(threadId: string): void {
    this.#unsynced.delete(threadId);
  }
}
