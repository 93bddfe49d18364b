import { diffWordsWithSpace } from "diff";

/** A part of a text; `isChanged` when the other text has not got it. */
export type Piece = { text: string; isChanged: boolean };

/** Longer texts are shown without what differs in them being marked. */
const longest = 40_000;
const mostMs = 50;

/** Two texts, each in the parts that both have and those that it has alone. */
export function piecesOf(a: string, b: string): { a: Piece[]; b: Piece[] } {
  const whole = { a: [{ text: a, isChanged: a !== b }], b: [{ text: b, isChanged: a !== b }] };
  if (a === b || a.length + b.length > longest) return whole;
  const parts = diffWordsWithSpace(a, b, { timeout: mostMs });
  if (!parts) return whole;
  const side = (leftOut: "added" | "removed") =>
    parts
      .filter((part) => !part[leftOut])
      .map(({ value, added, removed }) => ({ text: value, isChanged: added || removed }));
  return { a: side("added"), b: side("removed") };
}
