import { quoted } from "../document/form.ts";

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

/** A place in a text, counted from 1; a column is one UTF-16 unit, as editors count. */
export type Position = { line: number; column: number };

/** Finds lines and columns in a text. */
export class Lines {
  readonly #text: string;
  #starts: number[] | null = null;

  constructor(text: string) {
    this.#text = text;
  }

  /** The place of an offset. */
  at(offset: number): Position {
    this.#starts ??= startsOf(this.#text);
    let low = 0;
    let high = this.#starts.length - 1;
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if ((this.#starts[middle] ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    return { line: low + 1, column: offset - (this.#starts[low] ?? 0) + 1 };
  }
}

function startsOf(text: string): number[] {
  const starts = [0];
  for (const { index } of text.matchAll(/\r\n|\r|\n/g)) {
    starts.push(index + (text.startsWith("\r\n", index) ? 2 : 1));
  }
  return starts;
}

/** The error of a key that one object has twice. */
export const keyTwice = (key: string, first: Position): string =>
  `the key ${quoted(key)} stands twice, first in line ${first.line}, column ${first.column}`;
