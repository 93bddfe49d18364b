import type { PathPart } from "@uncaged/workflow/interpreter";
import { BREAK, ENTRY, getStepType, LoopMode, RETURN } from "../document/document.ts";
import { distinctWays, type Outline } from "../document/outline.ts";
import { ownValue } from "../expression/value.ts";
import type { Commit, Inside, Position, RunState, StepAt, Workflow } from "./state.ts";

export const startAt = (next: string): Position => ({ next, insides: new Map() });

/** Returns the construct at a chain's next step; null if the chain has not entered that step. */
export const insideOf = ({ insides, next }: Position): Inside | null => insides.get(next) ?? null;

/** Moves a chain to its next step and drops the progress of the current step. */
export function moveOn(at: Position, next: string): void {
  at.insides.delete(at.next);
  at.next = next;
}

export const entered = (body: Inside["body"] = null): Inside => ({
  body,
  finished: 0,
  broken: null,
  chains: new Map(),
  given: new Map(),
  child: null,
});

export const chainKey = (child: string, iteration?: number): string =>
  iteration === undefined ? child : `${iteration}/${child}`;

function chainOf(key: string): { child: string; iteration?: number } {
  const slash = key.indexOf("/");
  return slash < 0 ? { child: key } : { child: key.slice(slash + 1), iteration: iterationOf(key) };
}

const iterationOf = (key: string): number => Number.parseInt(key, 10);

/** Returns the chain at a path in a position. Creates missing chains and constructs. */
export function chainAt(root: Position, path: readonly PathPart[]): Position {
  let at = root;
  for (const part of path) {
    const inside = insideAt(at, part.in);
    if (!("child" in part)) throw new Error("the path leads into another run");
    const key = chainKey(part.child, part.iteration);
    let next = inside.chains.get(key);
    if (!next) inside.chains.set(key, (next = startAt(part.child)));
    at = next;
  }
  return at;
}

/** Returns a construct of a chain. Enters the construct if necessary. */
export function insideAt(at: Position, construct: string): Inside {
  if (at.next !== construct) moveOn(at, construct);
  let inside = insideOf(at);
  if (inside) return inside;
  if (at.ended && construct in at.ended) {
    const { [construct]: _, ...ended } = at.ended;
    at.ended = ended;
  }
  at.insides.set(construct, (inside = entered()));
  return inside;
}

/** Returns the construct at a path; null if the chain has not entered it. */
export function openAt(
  root: Position,
  path: readonly PathPart[],
  construct: string,
): Inside | null {
  const at = chainIn(root, path);
  return at?.next === construct ? insideOf(at) : null;
}

/** Drops the progress of a construct that the chain at a path has not entered. */
export function forget(root: Position, path: readonly PathPart[], construct: string): void {
  const at = chainIn(root, path);
  if (at && at.next !== construct) at.insides.delete(construct);
}

function chainIn(root: Position, path: readonly PathPart[]): Position | null {
  let at: Position | undefined = root;
  for (const part of path) {
    const inside: Inside | null = at?.next === part.in ? insideOf(at) : null;
    if (!inside || !("child" in part)) return null;
    at = inside.chains.get(chainKey(part.child, part.iteration));
  }
  return at ?? null;
}

/** Moves the chain of a commit to the position after the commit. */
export function moveTo(outline: Outline, root: Position, role: string, commit: Commit): void {
  const { path, phase, next, leadsTo, selected, iterations } = commit;
  passIterations(outline, root, path);
  const at = chainAt(root, path);
  if (phase === "body") {
    const inside = insideAt(at, role);
    inside.body = commit.child ? null : { selected, next: leadsTo };
    inside.child = null;
    return;
  }
  if (phase === "done" && isLoop(outline, role)) {
    const finished = at.insides.get(role)?.finished ?? 0;
    at.ended = { ...at.ended, [role]: iterations ?? marked(commit, role) ?? finished };
  }
  at.insides.delete(role);
  moveOn(at, next);
  if (hasEnded(at)) endChain(outline, root, commit, at);
}

/** Returns whether the step with an id is a loop. */
export const isLoop = ({ steps }: Outline, id: string): boolean => {
  const step = steps.get(id);
  return step !== undefined && getStepType(step) === "Loop";
};

/** Returns whether the step with an id is a loop with concurrent iterations. */
export const isParallel = ({ steps }: Outline, id: string): boolean =>
  steps.get(id)?.mode === LoopMode.parallel;

// When an iteration of a serial loop runs, all earlier iterations are over or dropped.
function passIterations(outline: Outline, root: Position, path: readonly PathPart[]): void {
  for (const [depth, part] of path.entries()) {
    if (!("child" in part) || part.iteration === undefined) continue;
    if (isParallel(outline, part.in)) continue;
    finishIterations(insideAt(chainAt(root, path.slice(0, depth)), part.in), part.iteration);
  }
}

function endChain(outline: Outline, root: Position, commit: Commit, at: Position): void {
  const part = commit.path.at(-1);
  if (!part || !("child" in part)) return;
  const around = chainAt(root, commit.path.slice(0, -1));
  const inside = insideAt(around, part.in);
  const key = chainKey(part.child, part.iteration);
  inside.chains.delete(key);
  inside.chains.set(key, at);
  const isDone = (child: string, iteration?: number): boolean => {
    const chain = inside.chains.get(chainKey(child, iteration));
    return chain !== undefined && hasEnded(chain);
  };
  if (part.in === ENTRY && outline.entries.every((entry) => isDone(entry))) {
    moveOn(around, RETURN);
  }
  const children = outline.steps.get(part.in)?.children ?? [];
  if (part.iteration === undefined || children.length === 0) return;
  // Logs of older versions have this number only in the marks of the commit, which may also count iterations without
  // commits.
  const known = marked(commit, part.in) ?? 0;
  if (at.next === BREAK) inside.broken = commit.iterations ?? known;
  let finished = inside.finished;
  while (children.every((child) => isDone(child, finished))) finished += 1;
  finishIterations(inside, Math.max(finished, known));
}

const marked = ({ loopProgress = {} }: Commit, loop: string) => ownValue(loopProgress, loop);

// Keep only the number of finished iterations, not the ends of their chains.
function finishIterations(inside: Inside, finished: number): void {
  if (finished <= inside.finished) return;
  inside.finished = finished;
  for (const key of inside.chains.keys()) {
    if (iterationOf(key) < finished) inside.chains.delete(key);
  }
}

export const hasEnded = ({ next }: Position): boolean => next === RETURN || next === BREAK;

/** Returns whether a step is a chain's next step and has not been entered yet. */
export function isNext(at: Position, id: string): boolean {
  const inside = insideOf(at);
  if (!inside) return at.next === id;
  return [...inside.chains.values()].some((chain) => isNext(chain, id));
}

/** Returns the next step of a run: the step of the first unfinished chain, or the first child that has not begun. */
export function currentOf(outline: Outline, at: Position): string {
  const { next } = at;
  const inside = insideOf(at);
  if (!inside) return next;
  const open = [...inside.chains.values()].find((chain) => !hasEnded(chain));
  if (open) return currentOf(outline, open);
  const step = outline.steps.get(next);
  const children = next === ENTRY ? outline.entries : (step?.children ?? []);
  const iteration = isLoop(outline, next) ? inside.finished : undefined;
  if (inside.broken !== null || (iteration === undefined && next !== ENTRY && !inside.body)) {
    return next;
  }
  return children.find((child) => !inside.chains.has(chainKey(child, iteration))) ?? next;
}

// Return the paths of the chains whose next step has this id, whether it was entered or not.
function pathsTo(
  at: Position,
  stepID: string,
  path: readonly PathPart[] = [],
): (readonly PathPart[])[] {
  const { next } = at;
  const below = [...(insideOf(at)?.chains ?? [])].flatMap(([key, chain]) =>
    pathsTo(chain, stepID, [...path, { in: next, ...chainOf(key) }]),
  );
  return next === stepID ? [path, ...below] : below;
}

/** Returns the position of the run's next step with an id; null if there are several possible positions. */
export function comingStep(
  { outline }: Workflow,
  { position }: RunState,
  stepID: string,
): StepAt | null {
  const [begun, ...others] = pathsTo(position, stepID);
  if (begun) return others.length === 0 ? { stepID, path: begun } : null;
  const [way, ...otherWays] = distinctWays(outline.enclosuresOf(stepID));
  if (!way || otherWays.length > 0) return null;
  const path: PathPart[] = [];
  for (const { in: construct, kind, child } of way) {
    if (kind === "loop" && isParallel(outline, construct)) return null;
    const finished = openAt(position, path, construct)?.finished ?? 0;
    path.push({ in: construct, child, ...(kind === "loop" && { iteration: finished }) });
  }
  return { stepID, path };
}
