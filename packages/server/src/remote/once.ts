const mostKept = 10_000;
const keptMs = 10 * 60_000;

type Made = { at: number; result: Promise<unknown> };

/**
 * Executes each change with a key once. Keeps the result for repeated requests for 10 minutes, for at most 10,000 keys.
 */
export class Once {
  readonly #made = new Map<string, Made>();

  /** Calls `act`, or returns the result of an earlier call with the same key. A failed change may be repeated. */
  async make(key: string | undefined, act: () => Promise<unknown>): Promise<unknown> {
    if (key === undefined) return await act();
    this.#forget();
    const before = this.#made.get(key);
    if (before) return await before.result;
    const result = act();
    this.#made.set(key, { at: performance.now(), result });
    try {
      return await result;
    } catch (error) {
      this.#made.delete(key);
      throw error;
    }
  }

  /** Deletes old results, and the oldest results above the limit. */
  #forget(): void {
    const oldest = performance.now() - keptMs;
    for (const [key, { at }] of this.#made) {
      if (at >= oldest && this.#made.size < mostKept) return;
      this.#made.delete(key);
    }
  }
}
