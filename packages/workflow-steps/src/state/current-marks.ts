import type { Outline } from "../outline/outline.ts";
import type { Marks } from "./marks.ts";
import type { RunState } from "./state.ts";

/**
 * The marks that count for a run that goes on from a state. A construct that is come to again, for the
 * steps lead back to it, still has those of the last time: they are left out.
 */
export function currentMarks(outline: Outline, state: RunState): Marks {
  const { carried, completedBranches, loopProgress, position } = state;
  if (Object.keys(completedBranches).length + Object.keys(loopProgress).length === 0) {
    return { completedBranches, loopProgress };
  }
  const again = position.inside
    ? behind(outline, position.next)
    : outline.reachableFrom(position.next);
  const current = <T>(marks: Record<string, T>): Record<string, T> =>
    Object.fromEntries(Object.entries(marks).filter(([id]) => carried.has(id) || !again.has(id)));
  return { completedBranches: current(completedBranches), loopProgress: current(loopProgress) };
}

/** What can run after a construct, without itself and what lies inside of it. */
function behind(outline: Outline, construct: string): Set<string> {
  const again = new Set<string>();
  const within = new Set([construct]);
  for (const { kind, to } of outline.referencesOf(construct)) {
    const reached = outline.reachableFrom(to);
    // A case that leads back to its Branch is no part of it.
    const isInside = kind === "child" || (kind === "case" && !reached.has(construct));
    for (const id of reached) (isInside ? within : again).add(id);
  }
  for (const id of within) again.delete(id);
  return again;
}
