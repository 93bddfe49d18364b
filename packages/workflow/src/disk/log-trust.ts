/** Codes of refusals to continue a log that do not come from the disk. */
export const refusals: ReadonlySet<string> = new Set([
  "THREAD_NOT_FOUND",
  "LOG_CORRUPT",
  "NEWER_LOG",
  "THREAD_MOVED",
]);

/**
 * Tracks the logs that a process must not continue as the system's cache shows them: logs that failed to sync, and with
 * `distrustsCache` all logs that it has not claimed or renewed yet.
 */
export class LogTrust {
  readonly #distrustsCache: boolean;
  readonly #unsynced = new Set<string>();
  readonly #trusted = new Set<string>();

  constructor(distrustsCache = false) {
    this.#distrustsCache = distrustsCache;
  }

  /** Whether a log remains that failed to sync: the next process must not trust the system's cache. */
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
