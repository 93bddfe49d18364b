import { show } from "../contract/show.ts";

/** The keys and indexes that lead from a document to a part of it. */
export type DocumentPath = readonly (string | number)[];

/** The value of a text, and the offset of each of its parts. */
export type Read = { value: unknown; offsetOf: (path: DocumentPath) => number };

/** Syntax error with its offset. For a duplicate, `first` is the offset of the first occurrence. */
export class Unreadable extends Error {
  constructor(
    readonly offset: number,
    message: string,
    readonly first?: number,
  ) {
    super(message);
  }
}

/** Maximum nesting depth of a document. */
export const deepestText = 500;

/** Returns the message for a number that would be rounded. */
export const roundedNumber = (text: string): string =>
  `the number ${show(text)} can't be kept exactly: write it as a string, in quotes`;

/** Refuses a duplicate key among the keys of one object. */
export function checkKeys(keys: readonly (readonly [name: string, offset: number])[]): void {
  const seen = new Map<string, number>();
  for (const [name, offset] of keys) {
    const first = seen.get(name);
    if (first !== undefined) {
      throw new Unreadable(offset, `duplicate key ${show(name)}`, first);
    }
    seen.set(name, offset);
  }
}
