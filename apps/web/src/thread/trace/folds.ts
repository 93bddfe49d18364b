import type { TraceRow } from "./rows.ts";

/** A visible row. `isOpen` tells whether the rows in it are shown; null if it contains no rows. */
export type Shown = { row: TraceRow; isOpen: boolean | null };

/** The rows that are not in a folded row. With words, returns only the rows with these words and their parents. */
export function shownRows(
  rows: readonly TraceRow[],
  folded: ReadonlySet<string>,
  words: string,
): Shown[] {
  const wanted = words.trim() === "" ? null : matching(rows, words.trim().toLowerCase());
  const shown: Shown[] = [];
  let hiddenBelow = Infinity;
  for (const [index, row] of rows.entries()) {
    if (row.depth > hiddenBelow) continue;
    hiddenBelow = Infinity;
    if (wanted && !wanted.has(row.id)) continue;
    const hasRows = (rows[index + 1]?.depth ?? 0) > row.depth;
    const isFolded = hasRows && !wanted && folded.has(row.id);
    if (isFolded) hiddenBelow = row.depth;
    shown.push({ row, isOpen: hasRows ? !isFolded : null });
  }
  return shown;
}

function matching(rows: readonly TraceRow[], words: string): ReadonlySet<string> {
  const parents = new Map(rows.map(({ id, parent }) => [id, parent]));
  const wanted = new Set<string>();
  for (const row of rows) {
    if (!textOf(row).toLowerCase().includes(words)) continue;
    for (let id: string | null = row.id; id !== null && !wanted.has(id); ) {
      wanted.add(id);
      id = parents.get(id) ?? null;
    }
  }
  return wanted;
}

const textOf = ({ name, status, card, turn }: TraceRow): string => {
  const more = turn === null ? (card?.attempt.title ?? "") : turn.kind === "tool" ? "" : turn.text;
  return `${name} ${status} ${more}`;
};
