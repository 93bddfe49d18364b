import type { Groups } from "./cycle.ts";
import { isChained, type Reference } from "./reference.ts";

/** In how many constructs each step lies at the most. A construct in a cycle with its content counts once. */
export function depthsIn(
  groups: Groups,
  references: (id: string) => readonly Reference[],
): Map<string, number> {
  const depths: number[] = [];
  const outermostFirst = [...groups].toSorted(([, one], [, other]) => other - one);
  for (const [id, group] of outermostFirst) {
    const depth = (depths[group] ??= 0);
    for (const reference of references(id)) {
      const inner = groups.get(reference.to) ?? group;
      if (inner === group) continue;
      depths[inner] = Math.max(depths[inner] ?? 0, depth + (isChained(reference) ? 0 : 1));
    }
  }
  return new Map(outermostFirst.map(([id, group]) => [id, depths[group] ?? 0]));
}
