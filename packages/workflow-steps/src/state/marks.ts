import { WorkflowError } from "@uncaged/workflow";
import { BREAK, ENTRY, failure, getStepType, RETURN } from "../document/document.ts";
import { distinctWays, type Enclosure, type Outline } from "../outline/outline.ts";
import { chainKey, entered, hasEnded, isParallel, startAt } from "./position.ts";
import type { Inside, Marks, Position, RunState } from "./state.ts";

/** The marks of a state, with those of the checkpoint that it began with where it has not come to them. */
export function marksOf(outline: Outline, { imported, position }: RunState): Marks {
  const marks: Marks = {
    completedBranches: { ...imported.completedBranches },
    ...(imported.brokenBranches && { brokenBranches: { ...imported.brokenBranches } }),
    loopProgress: { ...imported.loopProgress },
  };
  collect(outline, position, marks);
  return marks;
}

function collect(outline: Outline, { ended = {}, inside, next }: Position, marks: Marks): void {
  const counts = Object.entries(ended);
  if (counts.length > 0) {
    const again = inside ? behind(outline, next) : outline.reachableFrom(next);
    for (const [loop, count] of counts) {
      if (count > 0 && !again.has(loop)) marks.loopProgress[loop] = count;
    }
  }
  if (!inside) return;
  const step = outline.steps.get(next);
  if (step && getStepType(step) === "Loop") {
    const isConcurrent = isParallel(outline, next);
    const isIdle = inside.chains.size === 0;
    const finished = isIdle ? Math.max(inside.finished, inside.broken ?? 0) : inside.finished;
    if (finished > 0 && (isIdle || !isConcurrent)) marks.loopProgress[next] = finished;
    // Its iterations share the marks of what lies in them: they would be those of none.
    if (isConcurrent) return;
  } else {
    const done = [...inside.chains].filter(([, chain]) => hasEnded(chain));
    if (done.length > 0) marks.completedBranches[next] = done.map(([key]) => key);
    const broken = done.filter(([, chain]) => chain.next === BREAK).map(([key]) => key);
    if (broken.length > 0) (marks.brokenBranches ??= {})[next] = broken;
  }
  for (const chain of inside.chains.values()) collect(outline, chain, marks);
}

/** The step that a checkpoint names: the construct that the run is in, of a Branch the step in its arm. */
export function resumeStepOf(outline: Outline, { inside, next }: Position): string {
  const step = outline.steps.get(next);
  const isOpen = inside !== null && inside.body === null && inside.child === null;
  if (!isOpen || !step || getStepType(step) !== "Branch") return next;
  const [arm] = inside.chains.values();
  return arm && !hasEnded(arm) ? resumeStepOf(outline, arm) : next;
}

/**
 * The marks of a checkpoint that count when the run goes on at `id`. A caller may have chosen an earlier
 * step than the checkpoint's own (`isChosen`): what was completed and comes behind that step runs again.
 */
export function marksAt(
  outline: Outline,
  id: string,
  completedSteps: readonly string[],
  isChosen: boolean,
  given: Marks,
): Marks {
  const chosen = isChosen ? outline.reachableFrom(id) : new Set();
  const marks = keptMarks(given, (construct) => !chosen.has(construct));
  if (Object.keys({ ...marks.completedBranches, ...marks.loopProgress }).length === 0) return marks;
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
  return keptMarks(marks, (one) => !(again.has(one) && completed.has(one)));
}

/** The marks that count where a run comes to their constructs: concurrent iterations would share them. */
export function importedBy(outline: Outline, marks: Marks): Marks {
  const isShared = ({ kind, in: loop }: Enclosure): boolean =>
    kind === "loop" && isParallel(outline, loop);
  return keptMarks(marks, (id) => !outline.enclosuresOf(id).some((way) => way.some(isShared)));
}

function keptMarks(
  { completedBranches, brokenBranches, loopProgress }: Marks,
  isKept: (id: string) => boolean,
): Marks {
  const of = <T>(marks: Record<string, T>): Record<string, T> =>
    Object.fromEntries(Object.entries(marks).filter(([id]) => isKept(id)));
  return {
    completedBranches: of(completedBranches),
    ...(brokenBranches && { brokenBranches: of(brokenBranches) }),
    loopProgress: of(loopProgress),
  };
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

/**
 * The position of a run that begins at a step inside every construct around it, as the marks have it.
 *
 * @throws WorkflowError `NO_SUCH_STEP` (missing); `STEP_AMBIGUOUS` when it lies in several constructs.
 */
export function positionBefore(outline: Outline, id: string, marks: Marks): Position {
  if (id === RETURN) return startAt(RETURN);
  if (id !== ENTRY && !outline.steps.has(id)) {
    const ids = [...outline.steps.keys()];
    const hint = `its steps: ${ids.slice(0, 20).join(", ")}${ids.length > 20 ? ", …" : ""}`;
    const message = `the workflow has no step ${JSON.stringify(id)}`;
    throw WorkflowError.missing("NO_SUCH_STEP", message, hint);
  }
  const ways = id === ENTRY ? [[]] : distinctWays(outline.enclosuresOf(id));
  const [way = []] = ways;
  if (ways.length > 1) {
    const places = ways.map((one) => one.map((part) => part.in).join(" > ") || "the top");
    const message = `${id} lies in several constructs: ${places.slice(0, 10).join("; ")}`;
    throw failure("STEP_AMBIGUOUS", message, "begin at one of these constructs instead");
  }
  return way.reduceRight<Position>(
    (inner, enclosure) => enclosing(outline, enclosure, marks, inner),
    { next: id, inside: insideOf(outline, id, marks) },
  );
}

/** A construct as its marks have it; null when none of it is done. */
export function insideOf(outline: Outline, id: string, marks: Marks): Inside | null {
  const inside = marked(outline, id, marks);
  return inside.finished > 0 || inside.chains.size > 0 ? inside : null;
}

function enclosing(outline: Outline, way: Enclosure, marks: Marks, inner: Position): Position {
  const inside = way.kind === "branch" ? entered() : marked(outline, way.in, marks);
  if (way.kind === "fork") inside.body ??= {};
  const iteration = way.kind === "loop" ? inside.finished : undefined;
  inside.chains.set(chainKey(way.child, iteration), inner);
  return { next: way.in, inside };
}

// A loop's iterations are its body; that of all else is not run again once a child is done.
function marked(outline: Outline, id: string, marks: Marks): Inside {
  const step = outline.steps.get(id);
  if (step && getStepType(step) === "Loop") {
    return { ...entered(), finished: marks.loopProgress[id] ?? 0 };
  }
  const done = marks.completedBranches[id] ?? [];
  const broken = marks.brokenBranches?.[id] ?? [];
  const arm = done.find((child) => step && !step.children?.includes(child));
  const isBodyDone = done.some((child) => child !== arm);
  const inside = entered(isBodyDone ? { ...(arm !== undefined && { selected: arm }) } : null);
  for (const child of done) {
    inside.chains.set(child, startAt(broken.includes(child) ? BREAK : RETURN));
  }
  return inside;
}
