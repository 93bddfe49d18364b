/** The keys and indexes that lead into a document. */
export type Path = readonly (string | number)[];

/** A text's value, and where in the text each part of it begins. */
export type Read = { value: unknown; offsetOf: (path: Path) => number };

/** A text that has no value: what is wrong, and where (an offset). */
export class Unreadable extends Error {
  readonly offset: number;

  constructor(offset: number, message: string) {
    super(message);
    this.offset = offset;
  }
}

/** The deepest nesting of objects and arrays in a text. */
export const deepestText = 500;
