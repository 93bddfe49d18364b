/** What an earlier execution recorded. `failed`: that one came to its end, and failed. */
export type JournalEntry = { entry: unknown; failed: boolean };

/**
 * What the executions of a step record of their work while it goes on, so that the next one goes on from there: after a
 * crash, in a further try, and in a fork that keeps all steps of a thread, as `retry` does. It is found by the step's
 * idempotency key.
 */
export type Journal = {
  /** What earlier executions have recorded under a key, the oldest first. What the running one records is not among it. */
  read(key: string): Promise<readonly JournalEntry[]>;
  /**
   * Records a JSON value. It is on the disk, without secrets, when this resolves; with false when it could not be
   * recorded: then the next execution does the work again.
   */
  record(key: string, entry: unknown): Promise<boolean>;
};
