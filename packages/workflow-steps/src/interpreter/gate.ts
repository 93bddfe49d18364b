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

/** What steps and constructs need of a gate. */
export type StepGate = Pick<Gate, "enter" | "reenter" | "leave" | "hold">;

/**
 * The gate of a child's run: that of the run around it. When the child ends, its chains may stand still
 * for ever, so `end` says for them that they are not at work.
 */
export class ChildGate implements StepGate {
  readonly #outer: StepGate;
  #working = 0;
  #isOver = false;

  constructor(outer: StepGate) {
    this.#outer = outer;
  }

  async enter(): Promise<void> {
    await this.#outer.enter();
    this.#count();
  }

  reenter(): void {
    this.#outer.reenter();
    this.#count();
  }

  leave(): void {
    if (this.#isOver) return;
    this.#working -= 1;
    this.#outer.leave();
  }

  async hold<T>(pause: () => Promise<T>): Promise<T> {
    this.#working -= 1;
    try {
      return await this.#outer.hold(pause);
    } finally {
      this.#count();
    }
  }

  /** Lets go of all that is counted. */
  end(): void {
    this.#isOver = true;
    for (; this.#working > 0; this.#working -= 1) this.#outer.leave();
  }

  #count(): void {
    if (this.#isOver) this.#outer.leave();
    else this.#working += 1;
  }
}

/** Runs the inside of a construct: meanwhile the construct itself is not at work. */
export async function outside<T>(gate: StepGate, inside: () => Promise<T>): Promise<T> {
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
