import type { StoreChange } from "./store.ts";

/** The last change of each thread that one watch has not yet reported. */
export class ChangeQueue {
  readonly #changes = new Map<string, StoreChange>();
  #added = Promise.withResolvers<void>();

  add(change: StoreChange): void {
    const key = "ref" in change ? change.ref.threadId : "";
    // Move the key to the end, because a removed thread may have been created again.
    this.#changes.delete(key);
    this.#changes.set(key, change);
    this.#added.resolve();
  }

  /** Yields changes until `ended` is aborted. */
  async *until(ended: AbortSignal): AsyncGenerator<StoreChange> {
    const stop = (): void => this.#added.resolve();
    ended.addEventListener("abort", stop);
    try {
      while (!ended.aborted) {
        for (const [key, change] of this.#changes) {
          this.#changes.delete(key);
          yield change;
          if (ended.aborted) return;
        }
        this.#added = Promise.withResolvers();
        await this.#added.promise;
      }
    } finally {
      ended.removeEventListener("abort", stop);
    }
  }
}
