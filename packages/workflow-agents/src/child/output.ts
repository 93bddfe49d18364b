import { StringDecoder } from "node:string_decoder";

/**
 * Cuts bytes that come in chunks into lines, without their ends. A line longer than `most` characters
 * is given to `onLong` instead, which throws or is called once.
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

/** Keeps the beginning and the end of bytes that come in chunks, and counts all: `most` bytes at most. */
export class HeadAndTail {
  readonly #half: number;
  readonly #head: Uint8Array[] = [];
  #headLength = 0;
  #tail: Uint8Array[] = [];
  #tailLength = 0;
  #length = 0;

  constructor(most: number) {
    this.#half = Math.floor(most / 2);
  }

  /** All that came, in bytes. */
  get length(): number {
    return this.#length;
  }

  add(chunk: Uint8Array): void {
    this.#length += chunk.length;
    const free = this.#half - this.#headLength;
    if (free > 0) {
      this.#head.push(chunk.slice(0, free));
      this.#headLength += Math.min(free, chunk.length);
    }
    if (chunk.length > free) this.#addToTail(chunk.slice(Math.max(free, 0)));
  }

  #addToTail(chunk: Uint8Array): void {
    this.#tail.push(chunk);
    this.#tailLength += chunk.length;
    if (this.#tailLength > 4 * this.#half + 65_536) this.#trim();
  }

  #trim(): void {
    const kept = Buffer.concat(this.#tail).subarray(-this.#half);
    this.#tail = [Uint8Array.from(kept)];
    this.#tailLength = kept.length;
  }

  /** The text; what was left out of its middle is counted in a line of its own. */
  text(): string {
    this.#trim();
    const kept = this.#headLength + this.#tailLength;
    const head = Buffer.concat(this.#head);
    const tail = Buffer.concat(this.#tail);
    if (kept >= this.#length) return Buffer.concat([head, tail]).toString("utf8");
    const gap = `\n[truncated: ${this.#length - kept} of ${this.#length} bytes left out here]\n`;
    return `${head.toString("utf8")}${gap}${tail.toString("utf8")}`;
  }
}
