import { ENTRY } from "../document/constants.ts";
import type { Outline } from "../outline/outline.ts";
import type { Marks } from "./marks.ts";
import type { RunState } from "./state.ts";

/**
 * The marks that count for a run that goes on from a state. A construct that is come to again, for the
 * steps lead back to it, still has those of the last time: they are left out.
 */
export function currentMarks(outline: Outline, state: RunState): Marks {
  const { carried, completedBranches, loopProgress, position } = state;
  const marks = { completedBranches, loopProgress };
  if (isEmpty(marks) || outline.cycles.length === 0) return marks;
  const again = position.inside ? behind : reachable;
  const others = again(outline, position.next);
  return kept(marks, (id) => carried.has(id) || !others.has(id));
}

const reachable = (outline: Outline, id: string): ReadonlySet<string> => outline.reachableFrom(id);

/**
 * The marks of a checkpoint that count when the run goes on at `id`. A caller may have chosen an earlier
 * step than the checkpoint's own: what was completed and comes behind that step runs again.
 */
export function marksAt(
  outline: Outline,
  id: string,
  completedSteps: readonly string[],
  marks: Marks,
): Marks {
  if (isEmpty(marks)) return marks;
  const [way = []] = outline.enclosuresOf(id);
  const around = way.map((enclosure) => enclosure.in).filter((one) => one !== ENTRY);
  const again = new Set([id, ...around].flatMap((one) => [...behind(outline, one)]));
  // When the outermost construct is completed the chosen step is not where the run stood in it.
  const isOver = around[0] !== undefined && completedSteps.includes(around[0]);
  for (const one of around) {
    if (isOver) again.add(one);
    else again.delete(one);
  }
  again.delete(id);
  const completed = new Set(completedSteps);
  return kept(marks, (one) => !(again.has(one) && completed.has(one)));
}

const isEmpty = ({ completedBranches, loopProgress }: Marks): boolean =>
  Object.keys(completedBranches).length + Object.keys(loopProgress).length === 0;

function kept({ completedBranches, loopProgress }: Marks, isKept: (id: string) => boolean): Marks {
  const of = <T>(marks: Record<string, T>): Record<string, T> =>
    Object.fromEntries(Object.entries(marks).filter(([id]) => isKept(id)));
  return { completedBranches: of(completedBranches), loopProgress: of(loopProgress) };
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
