import { system } from "../system/system.ts";

/** Wakes all callers that wait for a change. */
export class Bell {
  #ring = Promise.withResolvers<void>();
  readonly #others = new Set<Bell>();

  /** Wakes the waiting callers, and rings the joined bells. */
  ring(): void {
    const { resolve } = this.#ring;
    this.#ring = Promise.withResolvers();
    resolve();
    for (const other of this.#others) other.ring();
  }

  /** Resolves at the next ring, even one before the `await`. */
  next(): Promise<void> {
    return this.#ring.promise;
  }

  /** Waits for `ring`, a result of {@link next}, at most `ms` milliseconds. Rings this bell after that time. */
  async within(ring: Promise<void>, ms: number): Promise<void> {
    const cancel = system.clock.after(ms, () => this.ring());
    await ring;
    cancel();
  }

  /** Rings another bell with this bell. Returns a function that ends this link. */
  join(other: Bell): () => void {
    this.#others.add(other);
    return () => this.#others.delete(other);
  }
}
