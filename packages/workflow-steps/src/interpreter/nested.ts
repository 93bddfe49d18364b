import type { Outline } from "../outline/outline.ts";

/** Finds the constructs whose marks belong to a chain: those that it can come to. Each chain is looked at once. */
export function nestedConstructs(outline: Outline): (child: string) => readonly string[] {
  const known = new Map<string, readonly string[]>();
  return (child) => {
    const found = known.get(child);
    if (found) return found;
    const nested = [...outline.reachableFrom(child)].filter(
      (id) => (outline.steps.get(id)?.children?.length ?? 0) > 0,
    );
    known.set(child, nested);
    return nested;
  };
}
