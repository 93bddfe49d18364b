/** Runs functions of one key one after the other, those of different keys at the same time. */
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

  /** Resolves when all functions that were given so far have ended. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#last.values());
  }
}
