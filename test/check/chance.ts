/** A seeded source of whole numbers. */
export class Chance {
  #state: number;

  constructor(seed: number) {
    this.#state = (seed * 2_654_435_761 + 1) % 2_147_483_647 || 1;
    this.below(2);
  }

  below(limit: number): number {
    this.#state = (this.#state * 48_271) % 2_147_483_647;
    return Math.floor((this.#state / 2_147_483_647) * limit);
  }

  is(probability: number): boolean {
    return this.below(1_000_000) < probability * 1_000_000;
  }
}
