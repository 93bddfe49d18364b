import { StringDecoder } from "node:string_decoder";

/**
 * Cuts bytes that come in chunks into lines, without their ends. A line longer than `most` characters
 * is given to `onLong` instead, which throws or is told once.
 */
export class Lines {
  readonly #decoder = new StringDecoder("utf8");
  readonly #onLine: (line: string) => void;
  readonly #onLong: () => void;
  readonly #most: number;
  #pieces: string[] = [];
  #length = 0;

  constructor(most: number, onLine: (line: string) => void, onLong: () => void) {
    this.#most = most;
    this.#onLine = onLine;
    this.#onLong = onLong;
  }

  add(chunk: Uint8Array): void {
    this.#take(this.#decoder.write(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length)));
  }

  /** Gives the last line, which may have no end. */
  end(): void {
    this.#take(this.#decoder.end());
    if (this.#length > 0) this.#give("");
  }

  #take(text: string): void {
    let from = 0;
    for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", from)) {
      this.#give(text.slice(from, at));
      from = at + 1;
    }
    this.#keep(text.slice(from));
  }

  #keep(piece: string): void {
    this.#length += piece.length;
    if (this.#length <= this.#most) this.#pieces.push(piece);
    else this.#pieces = [];
  }

  #give(piece: string): void {
    this.#keep(piece);
    const isLong = this.#length > this.#most;
    const line = this.#pieces.join("");
    this.#pieces = [];
    this.#length = 0;
    if (isLong) this.#onLong();
    else this.#onLine(line.endsWith("\r") ? line.slice(0, -1) : line);
  }
}
