/**
 * Long work in turns of a few milliseconds: `next` resolves when the work may go on. Between two turns the event loop
 * does all else.
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
