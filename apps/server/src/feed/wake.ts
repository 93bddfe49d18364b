/** Wakes all who wait for something new, and those who wait for others' news too. */
export class Wake {
  readonly #others: readonly Wake[];
  #next = Promise.withResolvers<void>();

  constructor(...others: Wake[]) {
    this.#others = others;
  }

  /** Resolves when it rings next. */
  get rung(): Promise<void> {
    return this.#next.promise;
  }

  ring(): void {
    const { resolve } = this.#next;
    this.#next = Promise.withResolvers<void>();
    resolve();
    for (const other of this.#others) other.ring();
  }
}
