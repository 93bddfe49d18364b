const piecesPerBlock = 1024;

/**
 * A text that arrives in small pieces. They are joined now and then, so that a long answer takes the
 * memory of its characters and not that of its pieces.
 */
export class GrowingText {
  #blocks: string[] = [];
  #pieces: string[] = [];

  add(piece: string): void {
    this.#pieces.push(piece);
    if (this.#pieces.length < piecesPerBlock) return;
    this.#blocks.push(this.#pieces.join(""));
    this.#pieces = [];
  }

  toString(): string {
    if (this.#pieces.length > 0) this.#blocks.push(this.#pieces.join(""));
    this.#pieces = [];
    this.#blocks = [this.#blocks.join("")];
    return this.#blocks[0] ?? "";
  }
}
