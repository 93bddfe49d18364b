/**
 * Lets steps start, and closes for a Pause: the steps that are at work finish, and none starts until
 * the Pause has its answer. One Pause at a time.
 */
export class Gate {
  #working = 0;
  #closed: Promise<void> | null = null;
  #onIdle: (() => void) | null = null;

  /** Waits until steps may start, and counts one as at work. */
  async enter(): Promise<void> {
    while (this.#closed) await this.#closed;
    this.#working += 1;
  }

  /** Counts a step as at work at once: one that has failed must not wait for a Pause. */
  reenter(): void {
    this.#working += 1;
  }

  /** Says that a step is committed, or has failed. */
  leave(): void {
    this.#working -= 1;
    if (this.#working === 0) this.#onIdle?.();
  }

  /**
   * Runs the `pause` of a step when every other step that is at work has finished; no step starts until
   * it is done. Then its step is at work again, and another Pause waits for it as well.
   */
  async hold<T>(pause: () => Promise<T>): Promise<T> {
    this.leave();
    while (this.#closed) await this.#closed;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#closed = promise;
    try {
      if (this.#working > 0) await new Promise<void>((idle) => (this.#onIdle = idle));
      return await pause();
    } finally {
      this.#working += 1;
      this.#onIdle = null;
      this.#closed = null;
      resolve();
    }
  }
}

/** Runs the inside of a construct: meanwhile the construct itself is not at work. */
export async function outside<T>(gate: Gate, inside: () => Promise<T>): Promise<T> {
  gate.leave();
  try {
    const result = await inside();
    await gate.enter();
    return result;
  } catch (error) {
    gate.reenter();
    throw error;
  }
}
