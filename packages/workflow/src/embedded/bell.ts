import { system } from "../system/system.ts";

/** Wakes all callers that wait for a change. */
export class Bell {
  #ring = Promise.withResolvers<void>();

  ring(): void {
    const { resolve } = this.#ring;
    this.#ring = Promise.withResolvers();
    resolve();
  }

  /** Resolves at the next ring, even one before the `await`. */
  next(): Promise<void> {
    return this.#ring.promise;
  }

  /** Waits for a ring, for at most `ms` milliseconds. */
  async within(ring: Promise<void>, ms: number): Promise<void> {
    const late = Promise.withResolvers<void>();
    const cancel = system.clock.after(ms, late.resolve);
    await Promise.race([ring, late.promise]);
    cancel();
  }
}
