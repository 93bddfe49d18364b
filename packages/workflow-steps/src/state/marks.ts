import { BREAK, ENTRY, getStepType, RETURN } from "../document/document.ts";
import { distinctWays, type Enclosure, type Outline } from "../document/outline.ts";
import { ownValue } from "../expression/value.ts";
import { chainKey, entered, hasEnded, insideOf, isLoop, isParallel, startAt } from "./position.ts";
import type { Inside, Position } from "./state.ts";
import { ambiguousStep, noSuchStep } from "./errors.ts";

/*
 * The marks of a checkpoint: the progress of each construct, by the construct's id. An export derives marks from a
 * position, and an import turns marks into a position. No other code uses marks.
 */

/** Finished children of constructs, the children that broke out of an enclosing loop, and finished iterations. */
export type Marks = {
  completedBranches: Record<string, string[]>;
  brokenBranches?: Record<string, string[]>;
  loopProgress: Record<string, number>;
};

/** Derives the marks of a position. */
export function marksOf(outline: Outline, position: Position): Marks {
  const marks: Marks = { completedBranches: {}, loopProgress: {} };
  collect(outline, position, marks);
  return marks;
}

function collect(outline: Outline, position: Position, marks: Marks): void {
  const { ended = {}, insides, next } = position;
  const counts = Object.entries(ended);
  if (counts.length > 0) {
    const again = insideOf(position) ? behind(outline, next) : outline.reachableFrom(next);
    for (const [loop, count] of counts) {
      if (count > 0 && !again.has(loop)) marks.loopProgress[loop] = count;
    }
  }
  for (const [id, inside] of insides) collectInside(outline, id, inside, marks);
}

function collectInside(outline: Outline, id: string, inside: Inside, marks: Marks): void {
  const { broken, chains, finished } = inside;
  if (isLoop(outline, id)) {
    const isConcurrent = isParallel(outline, id);
    const isIdle = chains.size === 0;
    const count = isIdle ? Math.max(finished, broken ?? 0) : finished;
    if (count > 0 && (isIdle || !isConcurrent)) marks.loopProgress[id] = count;
    // Concurrent iterations would share the marks of constructs inside them.
    if (isConcurrent) return;
  } else {
    const done = [...chains].filter(([, chain]) => hasEnded(chain));
    if (done.length > 0) marks.completedBranches[id] = done.map(([key]) => key);
    const left = done.filter(([, chain]) => chain.next === BREAK).map(([key]) => key);
    if (left.length > 0) (marks.brokenBranches ??= {})[id] = left;
  }
  for (const chain of chains.values()) {
    if (!hasEnded(chain)) collect(outline, chain, marks);
  }
}

/**
 * Returns the step that a checkpoint names: the construct that the run is in. For a Branch, returns the step in its
 * arm.
 */
export function resumeStepOf(outline: Outline, position: Position): string {
  const { next } = position;
  const inside = insideOf(position);
  const step = outline.steps.get(next);
  const isOpen = inside !== null && inside.body === null && inside.child === null;
  if (!isOpen || !step || getStepType(step) !== "Branch") return next;
  const [arm] = inside.chains.values();
  return arm && !hasEnded(arm) ? resumeStepOf(outline, arm) : next;
}

/**
 * Selects the marks of a checkpoint that apply when the run continues at `id`. If the caller chose an earlier step than
 * the checkpoint's own (`isChosen`), all steps reachable from that step run again.
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
  if (markedIn(marks).size === 0) return marks;
  const [way = []] = outline.enclosuresOf(id);
  const around = way.map((enclosure) => enclosure.in).filter((one) => one !== ENTRY);
  const again = new Set([id, ...around].flatMap((one) => [...behind(outline, one)]));
  // If the outermost construct is completed, the run was not inside it at the chosen step.
  const isOver = around[0] !== undefined && completedSteps.includes(around[0]);
  for (const one of around) {
    if (isOver) again.add(one);
    else again.delete(one);
  }
  again.delete(id);
  const completed = new Set(completedSteps);
  return keptMarks(marks, (one) => !(again.has(one) && completed.has(one)));
}

const markedIn = ({ completedBranches, loopProgress }: Marks): Set<string> =>
  new Set([...Object.keys(completedBranches), ...Object.keys(loopProgress)]);

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

/** Returns the steps that can run after a construct, without the construct and the steps inside it. */
function behind(outline: Outline, construct: string): Set<string> {
  const again = new Set<string>();
  const within = new Set([construct]);
  for (const { kind, to } of outline.referencesOf(construct)) {
    const reached = outline.reachableFrom(to);
    // A case that leads back to its Branch is not inside the Branch.
    const isInside = kind === "child" || (kind === "case" && !reached.has(construct));
    for (const id of reached) (isInside ? within : again).add(id);
  }
  for (const id of within) again.delete(id);
  return again;
}

/**
 * Returns the position of a run that continues at a step, with the progress in the marks. The run has entered all
 * enclosing constructs of the step, so it does not test their conditions again. In nested loops, a mark applies only to
 * the open iterations.
 * @throws WorkflowError `NO_SUCH_STEP` for a missing step; `STEP_AMBIGUOUS` for a step in several constructs.
 */
export function positionFrom(outline: Outline, id: string, marks: Marks): Position {
  if (id === RETURN) return startAt(RETURN);
  const way = wayTo(outline, id);
  const marked = markedIn(marks);
  const at = startAt(id);
  if (marked.has(id)) at.insides.set(id, insideFrom(outline, id, marks));
  const root = way.reduceRight<Position>((inner, { in: around, kind, child }) => {
    const inside = kind === "branch" ? entered() : insideFrom(outline, around, marks);
    if (kind === "fork") inside.body ??= {};
    inside.chains.set(chainIn(inside, kind, child), inner);
    return { next: around, insides: new Map([[around, inside]]) };
  }, at);
  const placed = new Set([id, ...way.map((one) => one.in)]);
  for (const construct of marked) {
    const [own, ...others] = outline.enclosuresOf(construct);
    // The mark of a construct with several places is ambiguous, so the construct runs from its beginning.
    if (placed.has(construct) || !own || others.length > 0) continue;
    const chain = chainTo(outline, root, own, marks);
    if (chain && !chain.insides.has(construct)) {
      chain.insides.set(construct, insideFrom(outline, construct, marks));
    }
  }
  return root;
}

function wayTo(outline: Outline, id: string): Enclosure[] {
  if (id !== ENTRY && !outline.steps.has(id)) {
    throw noSuchStep(id, [...outline.steps.keys()]);
  }
  const ways = id === ENTRY ? [[]] : distinctWays(outline.enclosuresOf(id));
  if (ways.length > 1) {
    const places = ways.map((one) => one.map((part) => part.in).join(" > ") || "the top");
    throw ambiguousStep(id, places);
  }
  return ways[0] ?? [];
}

const chainIn = ({ finished }: Inside, kind: Enclosure["kind"], child: string): string =>
  chainKey(child, kind === "loop" ? finished : undefined);

/**
 * Enters the constructs of a nesting. Returns null if the nesting includes a chain that has ended or was not chosen.
 */
function chainTo(
  outline: Outline,
  root: Position,
  way: readonly Enclosure[],
  marks: Marks,
): Position | null {
  let at = root;
  for (const { in: id, kind, child } of way) {
    // Concurrent iterations would share the mark.
    if (kind === "loop" && isParallel(outline, id)) return null;
    const inside = at.insides.get(id) ?? insideFrom(outline, id, marks);
    const key = chainIn(inside, kind, child);
    const chain = inside.chains.get(key) ?? startAt(child);
    const isChosen = kind !== "branch" || inside.chains.size === 0 || inside.chains.has(key);
    if (!isChosen || hasEnded(chain)) return null;
    if (kind === "fork") inside.body ??= {};
    inside.chains.set(key, chain);
    at.insides.set(id, inside);
    at = chain;
  }
  return at;
}

// A loop has only iterations. Every other construct finishes its own work before its children start, so a finished
// child proves that the work is finished.
function insideFrom(outline: Outline, id: string, marks: Marks): Inside {
  const step = outline.steps.get(id);
  if (isLoop(outline, id)) return { ...entered(), finished: ownValue(marks.loopProgress, id) ?? 0 };
  const done = ownValue(marks.completedBranches, id) ?? [];
  const broken = ownValue(marks.brokenBranches ?? {}, id) ?? [];
  const arm = done.find((child) => step && !step.children?.includes(child));
  const isBodyDone = done.some((child) => child !== arm);
  const inside = entered(isBodyDone ? { ...(arm !== undefined && { selected: arm }) } : null);
  for (const child of done) {
    inside.chains.set(child, startAt(broken.includes(child) ? BREAK : RETURN));
  }
  return inside;
}
