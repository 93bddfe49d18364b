/** Seeded random generator. A seed gives the same sequence on every machine. */
export class Random {
  #a: number;
  #b: number;
  #c: number;
  #count = 1;

  /** @param name Selects one of the independent sequences of a seed. */
  constructor(seed: number, name = "") {
    const hash = Bun.hash.xxHash64(name, BigInt(seed));
    this.#a = Number(hash & 0xffffffffn) | 0;
    this.#b = Number(hash >> 32n) | 0;
    this.#c = seed | 0;
    for (let n = 0; n < 12; n += 1) this.#next();
  }

  /** Returns a number in [0, 1). */
  number(): number {
    return this.#next() / 0x1_0000_0000;
  }

  /** Returns an integer in [0, `limit`). */
  below(limit: number): number {
    return Math.floor(this.number() * limit);
  }

  /** Returns true with a probability from 0 to 1. */
  chance(probability: number): boolean {
    return this.number() < probability;
  }

  pick<T>(values: readonly T[]): T {
    return values[this.below(values.length)] as T;
  }

  /** Returns a number around a typical number: often smaller, sometimes many times larger. */
  around(typical: number): number {
    const x = this.number();
    return typical * (x < 0.9 ? x * 2 : 2 + (x - 0.9) * 80);
  }

  // The algorithm is sfc32 (Small Fast Counter, 32 bits).
  #next(): number {
    const sum = (((this.#a + this.#b) | 0) + this.#count) | 0;
    this.#count = (this.#count + 1) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = ((this.#c << 21) | (this.#c >>> 11)) + sum;
    return sum >>> 0;
  }
}
