const mostKept = 10_000;
const keptMs = 10 * 60_000;

type Made = { at: number; result: Promise<unknown> };

/** Makes each change with a key once. Remembers its result for repeated requests, for some minutes. */
export class Once {
  readonly #made = new Map<string, Made>();

  /** Calls `act` unless a request with the same key has called it. A failed change may be repeated. */
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

  /** Forgets old results, and the oldest results above the limit. */
  #forget(): void {
    const oldest = performance.now() - keptMs;
    for (const [key, { at }] of this.#made) {
      if (at >= oldest && this.#made.size < mostKept) return;
      this.#made.delete(key);
    }
  }
}
