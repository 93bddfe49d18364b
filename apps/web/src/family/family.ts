import type { Relative } from "@uncaged/workflow-server/api-types";

/** A thread of a family, and how many forks it is away from the first. */
export type Member = { relative: Relative; depth: number };

/** A family in the order of a tree: each thread behind the one it was forked from. */
export function treeOf(family: readonly Relative[]): Member[] {
  const ids = new Set(family.map(({ threadId }) => threadId));
  const parentOf = ({ forkFrom }: Relative) =>
    forkFrom && ids.has(forkFrom.threadId) ? forkFrom.threadId : null;
  const members: Member[] = [];
  const walk = (parent: string | null, depth: number) => {
    for (const relative of family) {
      if (parentOf(relative) !== parent) continue;
      members.push({ relative, depth });
      walk(relative.threadId, depth + 1);
    }
  };
  walk(null, 0);
  return members;
}
