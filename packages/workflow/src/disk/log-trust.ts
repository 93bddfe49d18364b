/** Codes of errors that refuse to continue a log for a reason other than a disk failure. */
export const refusals: ReadonlySet<string> = new Set([
  "THREAD_NOT_FOUND",
  "LOG_CORRUPT",
  "NEWER_LOG",
  "THREAD_MOVED",
]);

/**
 * Tracks suspect logs: the system's cache may show bytes that are not on the disk, so a process must renew a suspect
 * log before it continues the log. A log is suspect if it failed to sync, or with `distrustsCache` if the process has
 * not yet claimed or renewed it.
 */
export class LogTrust {
  readonly #distrustsCache: boolean;
  readonly #unsynced = new Set<string>();
  readonly #trusted = new Set<string>();

  constructor(distrustsCache = false) {
    this.#distrustsCache = distrustsCache;
  }

  /** Whether a log stayed unsynced after a failed sync, so that the next process must not trust the system's cache. */
  get hasUnsynced(): boolean {
    return this.#unsynced.size > 0;
  }

  /** Returns whether a log must be renewed before it is continued. */
  isSuspect(threadId: string): boolean {
    return this.#unsynced.has(threadId) || (this.#distrustsCache && !this.#trusted.has(threadId));
  }

  /** Records that a log failed to sync. */
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
