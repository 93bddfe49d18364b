import { StringDecoder } from "node:string_decoder";

/** Splits chunks of bytes into lines. Calls `onLong` instead of `onLine` for a line of more than `most` characters. */
export class Lines {
  readonly #decoder = new StringDecoder("utf8");
  readonly #onLine: (line: string) => void;
  readonly #onLong: () => void;
  readonly #most: number;
  #pieces: string[] = [];
  #length = 0;

  constructor(most: number, onLine: (line: string) => void, onLong: () => void = () => undefined) {
    this.#most = most;
    this.#onLine = onLine;
    this.#onLong = onLong;
  }

  add(chunk: Uint8Array): void {
    this.#take(this.#decoder.write(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length)));
  }

  /** Emits the last line, which may lack a line end. */
  end(): void {
    this.#take(this.#decoder.end());
    if (this.#length > 0) this.#give();
  }

  #take(text: string): void {
    const [first = "", ...others] = text.split("\n");
    this.#keep(first);
    for (const piece of others) {
      this.#give();
      this.#keep(piece);
    }
  }

  #keep(piece: string): void {
    this.#length += piece.length;
    if (this.#length <= this.#most) this.#pieces.push(piece);
    else this.#pieces = [];
  }

  #give(): void {
    const isLong = this.#length > this.#most;
    const line = this.#pieces.join("");
    this.#pieces = [];
    this.#length = 0;
    if (isLong) this.#onLong();
    else this.#onLine(line.endsWith("\r") ? line.slice(0, -1) : line);
  }
}

/** Keeps the beginning and the end of a byte stream, at most `most` bytes, and counts all bytes. */
export class HeadAndTail {
  length = 0;
  readonly #half: number;
  #head: Buffer = Buffer.alloc(0);
  #tail: Buffer[] = [];
  #tailLength = 0;

  constructor(most: number) {
    this.#half = Math.floor(most / 2);
  }

  add(chunk: Uint8Array): void {
    this.length += chunk.length;
    const free = this.#half - this.#head.length;
    if (free > 0) this.#head = Buffer.concat([this.#head, chunk.subarray(0, free)]);
    const rest = Buffer.from(chunk.subarray(Math.max(free, 0)));
    this.#tail.push(rest);
    this.#tailLength += rest.length;
    if (this.#tailLength > 4 * this.#half + 65_536) this.#trim();
  }

  #trim(): Buffer {
    const kept = Buffer.from(Buffer.concat(this.#tail).subarray(-this.#half));
    this.#tail = [kept];
    this.#tailLength = kept.length;
    return kept;
  }

  /** Returns the text. A line in the middle states the number of bytes left out. */
  text(): string {
    const tail = this.#trim();
    const left = this.length - this.#head.length - tail.length;
    if (left === 0) return Buffer.concat([this.#head, tail]).toString("utf8");
    const gap = `\n[truncated: ${left} of ${this.length} bytes left out here]\n`;
    return `${this.#head.toString("utf8")}${gap}${tail.toString("utf8")}`;
  }
}
