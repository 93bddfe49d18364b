import { diffLines } from "diff";

/** One line of a comparison, or a run of lines that both texts have and that is not shown. */
export type DiffLine =
  | { kind: "same" | "added" | "removed"; text: string; key: number }
  | { kind: "skipped"; count: number; key: number };

/** Texts that differ in more than this are not compared: it would hold the page up. */
const most = { maxEditLength: 2_000, timeout: 500 };

/**
 * The lines of two texts, one below the other as in a patch. Of the lines that both have, `around` are
 * kept on each side of a change. Null when the texts are too different to be compared.
 */
export function diffOf(before: string, after: string, around = 3): DiffLine[] | null {
  const parts = diffLines(before, after, most);
  if (!parts) return null;
  const lines: DiffLine[] = [];
  for (const [index, { value, added, removed }] of parts.entries()) {
    const texts = value.replace(/\n$/, "").split("\n");
    const kind = added ? "added" : removed ? "removed" : "same";
    const shown =
      kind === "same" ? folded(texts, index > 0, index < parts.length - 1, around) : texts;
    for (const one of shown) {
      const key = lines.length;
      lines.push(
        typeof one === "number" ? { kind: "skipped", count: one, key } : { kind, text: one, key },
      );
    }
  }
  return lines;
}

function folded(
  texts: string[],
  isAfterChange: boolean,
  isBeforeChange: boolean,
  around: number,
): (string | number)[] {
  const head = isAfterChange ? around : 0;
  const tail = isBeforeChange ? around : 0;
  const skipped = texts.length - head - tail;
  if (skipped <= 1) return texts;
  return [...texts.slice(0, head), skipped, ...(tail > 0 ? texts.slice(-tail) : [])];
}
