import type { Frame } from "./frame.ts";

/** The newest frames of a feed, numbered from 0 on, as many as have room. */
export class Ring {
  readonly #room: number;
  #frames: Frame[] = [];
  #bytes = 0;
  #first = 0;

  /** @param room In bytes; the newest frame is kept in any case. */
  constructor(room: number) {
    this.#room = room;
  }

  /** The number that the next frame will have. */
  get next(): number {
    return this.#first + this.#frames.length;
  }

  push(frame: Frame): void {
    this.#frames.push(frame);
    this.#bytes += frame.bytes.length;
    let gone = 0;
    while (this.#bytes > this.#room && gone < this.#frames.length - 1) {
      this.#bytes -= this.#frames[gone]?.bytes.length ?? 0;
      gone += 1;
    }
    if (gone > 0) this.#frames = this.#frames.slice(gone);
    this.#first += gone;
  }

  /** Whether the frame with this number is still here, or is yet to come. */
  reaches(number: number): boolean {
    return number >= this.#first;
  }

  at(number: number): Frame | undefined {
    return this.#frames[number - this.#first];
  }
}
