import { indexIn } from "../content/sent.ts";

/**
 * Assigns places to the parts of an answer by their index. Some servers omit the index and send one part at a time.
 * Other servers send the same index for every part.
 */
export class Places {
  readonly #field: string;
  /** The places of parts whose index was missing or taken. */
  readonly #moved = new Map<number, number>();
  #last = -1;

  /** @param field The name of the index in errors. */
  constructor(field: string) {
    this.#field = field;
  }

  /**
   * Returns the place of the part with an index, or the last place if the index is missing.
   * @throws UnreadableContent
   */
  of(index: unknown): number {
    if (index === undefined || index === null) return Math.max(0, this.#last);
    const own = indexIn(index, this.#field);
    const place = this.#moved.get(own) ?? own;
    this.#last = Math.max(this.#last, place);
    return place;
  }

  /**
   * Returns the place of a new part. This is the part's index, or the next place if the index is missing or taken.
   *
   * @throws UnreadableContent
   */
  begin(index: unknown, isTaken: (place: number) => boolean): number {
    const isMissing = index === undefined || index === null;
    if (!isMissing && !isTaken(this.of(index))) return this.of(index);
    this.#last += 1;
    if (typeof index === "number") this.#moved.set(index, this.#last);
    return this.#last;
  }
}
