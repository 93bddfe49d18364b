/** Runs functions of one key in sequence, and functions of different keys concurrently. */
export class Turns {
  readonly #last = new Map<string, Promise<unknown>>();

  async alone<T>(key: string, act: () => T | Promise<T>): Promise<T> {
    const before = this.#last.get(key) ?? Promise.resolve();
    const turn = before.then(act, act);
    this.#last.set(key, turn);
    try {
      return await turn;
    } finally {
      if (this.#last.get(key) === turn) this.#last.delete(key);
    }
  }

  /** Resolves when all functions passed so far have ended. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#last.values());
  }
}
