import { system } from "../system/system.ts";

/** Wakes all that wait for a change. */
export class Bell {
  #ring = Promise.withResolvers<void>();

  ring(): void {
    const { resolve } = this.#ring;
    this.#ring = Promise.withResolvers();
    resolve();
  }

  /** Resolves at the next ring, also one before it is awaited. */
  next(): Promise<void> {
    return this.#ring.promise;
  }

  /** Waits for a ring, for so many milliseconds at most. */
  async within(ring: Promise<void>, ms: number): Promise<void> {
    const late = Promise.withResolvers<void>();
    const cancel = system.clock.after(ms, late.resolve);
    await Promise.race([ring, late.promise]);
    cancel();
  }
}
