const idDigits = 8;
const hashDigits = 7;

/**
 * How each thread id is shown on a terminal: its ending, for ids of one hour begin alike; so many
 * digits that no two of those listed are the same. An ending is accepted wherever an id is.
 */
export function shortIds(ids: readonly string[]): (id: string) => string {
  const length = shortest(ids, idDigits, (id, digits) => id.slice(-digits));
  return (id) => id.slice(-length);
}

/** A workflow's name and its hash: `review (C9NMV6V)` on a terminal, whole in a pipe. */
export function versionText(name: string, hash: string, terminal: boolean): string {
  return `${name} (${terminal ? shortHash(hash) : hash})`;
}

/** The beginning of a hash, as it is shown on a terminal. */
export const shortHash = (hash: string): string => hash.slice(0, hashDigits);

function shortest(
  all: readonly string[],
  least: number,
  shorten: (text: string, digits: number) => string,
): number {
  const distinct = [...new Set(all)];
  const longest = Math.max(least, ...distinct.map((text) => text.length));
  for (let digits = least; digits < longest; digits += 1) {
    if (new Set(distinct.map((text) => shorten(text, digits))).size === distinct.length)
      return digits;
  }
  return longest;
}
