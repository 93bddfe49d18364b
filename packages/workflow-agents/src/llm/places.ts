import { indexIn } from "../content/sent.ts";

/**
 * The places of an answer's parts, by their index. Some servers leave out the index and send one part at a time; others
 * give every part the same index.
 */
export class Places {
  readonly #field: string;
  /** The places of parts that did not get their own index. */
  readonly #moved = new Map<number, number>();
  #last = -1;

  /** `field` names the index in an error. */
  constructor(field: string) {
    this.#field = field;
  }

  /**
   * Returns the place of the part with an index, or the last place for a missing index.
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
   * Returns the place of a starting part: a new place when its index is missing or belongs to another part.
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
