import { distance } from "fastest-levenshtein";

const longestName = 64;
const mostEdits = 3;

/** Returns the known name most similar to a written name; null when none is similar. */
export function nearestName(written: string, known: readonly string[]): string | null {
  if (written.length > longestName) return null;
  const wanted = written.toLowerCase();
  const [best] = known
    .map((name) => ({ name, edits: distance(wanted, name.toLowerCase()) }))
    .filter(({ name, edits }) => edits <= Math.min(mostEdits, Math.floor(name.length / 2)))
    .toSorted((a, b) => a.edits - b.edits);
  return best?.name ?? null;
}
