/**
 * Splits long work into turns of a few milliseconds: `next` resolves when the work may continue. Between two turns the
 * event loop runs other work.
 */
export class Turns {
  readonly #restMs: number;
  #began = performance.now();

  constructor(restMs: number) {
    this.#restMs = restMs;
  }

  async next(): Promise<void> {
    if (performance.now() - this.#began < longestMs) return;
    await new Promise((resolve) => setTimeout(resolve, this.#restMs));
    this.#began = performance.now();
  }
}

const longestMs = 4;
