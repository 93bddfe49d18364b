import type { Position } from "@uncaged/workflow/host";
import type { Frame } from "./frame.ts";

/** The newest frames of a feed, numbered from 0 on, as many as have room. */
export class Ring {
  readonly #room: number;
  #frames: Frame[] = [];
  #bytes = 0;
  #first = 0;
  /** Before the first frame that is still here. */
  #from: Position;

  /**
   * @param from Before the first frame of all.
   * @param room In bytes; the newest frame is kept in any case.
   */
  constructor(from: Position, room: number) {
    this.#from = from;
    this.#room = room;
  }

  /** Behind the newest frame. */
  get head(): Position {
    return this.#frames.at(-1)?.position ?? this.#from;
  }

  push(frame: Frame): void {
    this.#frames.push(frame);
    this.#bytes += frame.bytes.length;
    let gone = 0;
    while (this.#bytes > this.#room && gone < this.#frames.length - 1) {
      const oldest = this.#frames[gone] as Frame;
      this.#bytes -= oldest.bytes.length;
      this.#from = oldest.position;
      gone += 1;
    }
    if (gone > 0) this.#frames = this.#frames.slice(gone);
    this.#first += gone;
  }

  /** The number of the frame behind a position, or null when none here begins there. */
  behind(position: Position): number | null {
    if (isSame(position, this.#from)) return this.#first;
    const at = this.#frames.findLastIndex((frame) => isSame(frame.position, position));
    return at < 0 ? null : this.#first + at + 1;
  }

  /** Whether the frame with this number is still here, or is yet to come. */
  reaches(number: number): boolean {
    return number >= this.#first;
  }

  at(number: number): Frame | undefined {
    return this.#frames[number - this.#first];
  }
}

const isSame = (a: Position, b: Position): boolean => a.data === b.data && a.info === b.info;
