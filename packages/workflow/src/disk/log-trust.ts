/** Codes of errors that refuse to continue a log for another reason than a disk failure. */
export const refusals: ReadonlySet<string> = new Set([
  "THREAD_NOT_FOUND",
  "LOG_CORRUPT",
  "NEWER_LOG",
  "THREAD_MOVED",
]);

/**
 * Tracks suspect logs: the system's cache may show bytes that are not on the disk, so a process must renew the log
 * before it continues it. These are logs that failed to sync, and with `distrustsCache` all logs that the process has
 * not claimed or renewed yet.
 */
export class LogTrust {
  readonly #distrustsCache: boolean;
  readonly #unsynced = new Set<string>();
  readonly #trusted = new Set<string>();

  constructor(distrustsCache = false) {
    this.#distrustsCache = distrustsCache;
  }

  /** Whether a log is left unsynced after a failed sync, so that the next process must not trust the system's cache. */
  get hasUnsynced(): boolean {
    return this.#unsynced.size > 0;
  }

  /** Whether a log must be renewed before it is continued. */
  isSuspect(threadId: string): boolean {
    return this.#unsynced.has(threadId) || (this.#distrustsCache && !this.#trusted.has(threadId));
  }

  /** Notes that a log failed to sync. */
  doubt(threadId: string): void {
    this.#unsynced.add(threadId);
  }

  claimed(threadId: string): void {
    this.#trusted.add(threadId);
  }

  renewed(threadId: string): void {
    this.#unsynced.delete(threadId);
    this.#trusted.add(threadId);
  }

  removed(threadId: string): void {
    this.#unsynced.delete(threadId);
  }
}
