/** A text inside a value, with the keys and indexes that lead to it. */
export type Leaf = { text: string; path: () => (string | number)[] };

type Place = { key: string | number; within: Place | null };

/** The deepest nesting that values in steps may have. */
export const deepestValue = 1000;

/**
 * The texts in a value, in order. A value that is nested too deep gives null in place of the texts there.
 * An object that stands in it twice is read once, so a cycle has an end.
 */
export function* leavesIn(value: unknown): Generator<Leaf | null> {
  const seen = new Set<object>();
  const waiting: { value: unknown; place: Place | null; depth: number }[] = [
    { value, place: null, depth: 0 },
  ];
  for (let one = waiting.pop(); one; one = waiting.pop()) {
    const { value: inner, place, depth } = one;
    if (typeof inner === "string") yield { text: inner, path: () => pathTo(place) };
    if (typeof inner !== "object" || inner === null || seen.has(inner)) continue;
    seen.add(inner);
    if (depth >= deepestValue) {
      yield null;
      continue;
    }
    const items: [string | number, unknown][] = Array.isArray(inner)
      ? inner.map((item: unknown, index) => [index, item])
      : Object.entries(inner);
    for (const [key, item] of items.toReversed()) {
      waiting.push({ value: item, place: { key, within: place }, depth: depth + 1 });
    }
  }
}

function pathTo(place: Place | null): (string | number)[] {
  const path: (string | number)[] = [];
  for (let one = place; one; one = one.within) path.push(one.key);
  return path.toReversed();
}
