import { LoopMode } from "../document/constants.ts";
import type { PathPart } from "./commit.ts";
import { chainKey, chainOf, type Position } from "./position.ts";
import type { RunState } from "./state.ts";
import type { StepPlace } from "./step-place.ts";
import type { Workflow } from "./workflow.ts";

/**
 * Where a step of a run stands that the run comes to next, such as one that failed. Null when that can't
 * be told: when several chains come to it, or it lies in several constructs.
 */
export function comingPlace(
  { outline }: Workflow,
  { position }: RunState,
  stepID: string,
): StepPlace | null {
  const begun = pathsTo(position, stepID, []);
  const [path] = begun;
  if (path) return begun.length === 1 ? { stepID, path } : null;
  const ways = outline.enclosuresOf(stepID);
  const parts: PathPart[] = [];
  let at: Position | undefined = position;
  for (const { in: construct, kind, child } of ways[0] ?? []) {
    const inside: Position["inside"] = at?.next === construct ? at.inside : null;
    const isParallel = outline.steps.get(construct)?.mode === LoopMode.parallel;
    if (kind === "loop" && isParallel) return null;
    const iteration: number | undefined = kind === "loop" ? (inside?.finished ?? 0) : undefined;
    parts.push({ in: construct, child, ...(iteration !== undefined && { iteration }) });
    at = inside?.chains.get(chainKey(child, iteration));
  }
  return ways.length === 1 ? { stepID, path: parts } : null;
}

/** The paths of the chains whose next step is this one. */
function pathsTo(
  { inside, next }: Position,
  stepID: string,
  path: readonly PathPart[],
): (readonly PathPart[])[] {
  const below = [...(inside?.chains ?? [])].flatMap(([key, chain]) =>
    pathsTo(chain, stepID, [...path, { in: next, ...chainOf(key) }]),
  );
  return next === stepID ? [path, ...below] : below;
}
