import type { Position } from "@uncaged/workflow/host";
import type { SseMessage } from "./sse.ts";

/** The newest messages of a feed, numbered from 0 on, as many as have room. */
export class Ring {
  readonly #room: number;
  #messages: SseMessage[] = [];
  #bytes = 0;
  #first = 0;
  /** Before the first message that is still here. */
  #from: Position;

  /**
   * @param from Before the first message of all.
   * @param room In bytes; the newest message is kept in any case.
   */
  constructor(from: Position, room: number) {
    this.#from = from;
    this.#room = room;
  }

  /** Behind the newest message. */
  get head(): Position {
    return this.#messages.at(-1)?.position ?? this.#from;
  }

  push(message: SseMessage): void {
    this.#messages.push(message);
    this.#bytes += message.bytes.length;
    let gone = 0;
    while (this.#bytes > this.#room && gone < this.#messages.length - 1) {
      const oldest = this.#messages[gone] as SseMessage;
      this.#bytes -= oldest.bytes.length;
      this.#from = oldest.position;
      gone += 1;
    }
    if (gone > 0) this.#messages = this.#messages.slice(gone);
    this.#first += gone;
  }

  /** The number of the message behind a position, or null when none here begins there. */
  behind(position: Position): number | null {
    if (isSame(position, this.#from)) return this.#first;
    const at = this.#messages.findLastIndex((message) => isSame(message.position, position));
    return at < 0 ? null : this.#first + at + 1;
  }

  /** Whether the message with this number is still here, or is yet to come. */
  reaches(number: number): boolean {
    return number >= this.#first;
  }

  at(number: number): SseMessage | undefined {
    return this.#messages[number - this.#first];
  }
}

const isSame = (a: Position, b: Position): boolean => a.data === b.data && a.info === b.info;
