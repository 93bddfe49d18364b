import { BREAK, ENTRY, getStepType, LoopMode, RETURN } from "../document/document.ts";
import type { Outline } from "../outline/outline.ts";
import type { ChildRun, Commit, PathPart, RunState } from "./state.ts";

/**
 * The position of a chain: `next` is the step that it comes to (or `RETURN`, `BREAK`), and `inside` is
 * set when that step is a construct that was entered: its `if` and its cases are not tested again.
 *
 * The positions of a run, a tree by the paths of its commits, are all the progress there is: what is
 * recorded under a path is done, and the rest is still to do.
 */
export type Position = {
  next: string;
  inside: Inside | null;
  /** The loops that this chain has behind it, with the number of their iterations. */
  ended?: Readonly<Record<string, number>>;
};

/** What a step's own work gave that is done: the case of a Branch, and where it led if not to `next`. */
type BodyDone = { selected?: string | null; next?: string };

/**
 * How far a construct is that was entered. `finished` counts the iterations of a loop that are done
 * without a gap, `broken` is the number of all when one of them broke out of it; `chains` are its chains
 * by `chainKey`, those that ended in the order in which they did; `given` are the locals that a rerun
 * gave a loop's iterations, by number; `run` is the state of the child workflow that the step started.
 */
export type Inside = {
  body: BodyDone | null;
  finished: number;
  broken: number | null;
  chains: Map<string, Position>;
  given: Map<number, Record<string, unknown>>;
  run: RunState | null;
  /** What that child workflow was begun with. */
  child: ChildRun | null;
};

/** The start of a chain. */
export const startAt = (next: string): Position => ({ next, inside: null });

/** A construct that was just entered. */
export const entered = (body: BodyDone | null = null): Inside => ({
  body,
  finished: 0,
  broken: null,
  chains: new Map(),
  given: new Map(),
  run: null,
  child: null,
});

/** The key of a chain in its construct. */
export const chainKey = (child: string, iteration?: number): string =>
  iteration === undefined ? child : `${iteration}/${child}`;

/** The chain that a key stands for. */
export function chainOf(key: string): { child: string; iteration?: number } {
  const slash = key.indexOf("/");
  return slash < 0 ? { child: key } : { child: key.slice(slash + 1), iteration: iterationOf(key) };
}

const iterationOf = (key: string): number => Number.parseInt(key, 10);

/**
 * The chain of `path` in a position; chains and constructs on it that are not there yet are entered. A
 * part that is a child's run must have been taken off before.
 */
export function chainAt(root: Position, path: readonly PathPart[]): Position {
  let at = root;
  for (const part of path) {
    const inside = insideAt(at, part.in);
    if (!("child" in part)) throw new Error("a run's state has positions of its own");
    const key = chainKey(part.child, part.iteration);
    let next = inside.chains.get(key);
    if (!next) inside.chains.set(key, (next = startAt(part.child)));
    at = next;
  }
  return at;
}

/** The construct that a chain has come to, entered when it was not. */
export function insideAt(at: Position, construct: string): Inside {
  if (at.next === construct && at.inside) return at.inside;
  if (at.ended && construct in at.ended) {
    const { [construct]: _, ...ended } = at.ended;
    at.ended = ended;
  }
  at.next = construct;
  at.inside = entered();
  return at.inside;
}

/** Moves the position of a commit's chain to where the commit leads. */
export function moveTo(outline: Outline, root: Position, role: string, commit: Commit): void {
  const { path, phase, next, iterations } = commit;
  passIterations(outline, root, path);
  const at = chainAt(root, path);
  if (phase === "body") {
    const inside = insideAt(at, role);
    inside.body = commit.child === undefined ? bodyOf(commit) : null;
    inside.run = null;
    return;
  }
  if (phase === "done" && isLoop(outline, role)) {
    const finished = at.next === role ? (at.inside?.finished ?? 0) : 0;
    at.ended = { ...at.ended, [role]: iterations ?? commit.loopProgress?.[role] ?? finished };
  }
  at.next = next;
  at.inside = null;
  if (hasEnded(at)) endChain(outline, root, commit, at);
}

const isLoop = ({ steps }: Outline, id: string): boolean => {
  const step = steps.get(id);
  return step !== undefined && getStepType(step) === "Loop";
};

const bodyOf = ({ leadsTo, selected }: Commit): BodyDone => ({
  ...(selected !== undefined && { selected }),
  ...(leadsTo !== undefined && { next: leadsTo }),
});

// A later iteration of a serial loop runs: those before it are over, also those that were dropped.
function passIterations({ steps }: Outline, root: Position, path: readonly PathPart[]): void {
  for (const [depth, part] of path.entries()) {
    if (!("child" in part) || part.iteration === undefined) continue;
    if (steps.get(part.in)?.mode === LoopMode.parallel) continue;
    const inside = insideAt(chainAt(root, path.slice(0, depth)), part.in);
    if (part.iteration > inside.finished) finishIterations(inside, part.iteration);
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
    Object.assign(around, startAt(RETURN));
  }
  if (part.iteration === undefined) return;
  // A log of an older version has the number in its marks, and an iteration that left no other trace.
  const marked = commit.loopProgress?.[part.in] ?? 0;
  if (at.next === BREAK) inside.broken = commit.iterations ?? marked;
  const children = outline.steps.get(part.in)?.children ?? [];
  let finished = inside.finished;
  while (children.every((child) => isDone(child, finished))) finished += 1;
  if (children.length > 0) finishIterations(inside, Math.max(finished, marked));
}

// What a finished iteration did is in the variables: how its chains ended is of no use.
function finishIterations(inside: Inside, finished: number): void {
  if (finished <= inside.finished) return;
  inside.finished = finished;
  for (const key of inside.chains.keys()) {
    if (iterationOf(key) < finished) inside.chains.delete(key);
  }
}

/** Whether a chain has ended. */
export const hasEnded = ({ next, inside }: Position): boolean =>
  inside === null && (next === RETURN || next === BREAK);

/** Whether some chain's next step is this one, not entered yet. */
export function isNext({ next, inside }: Position, id: string): boolean {
  if (!inside) return next === id;
  return [...inside.chains.values()].some((chain) => isNext(chain, id));
}

/**
 * The step that a run comes to next, inside of its constructs: that of the first chain which is open, or
 * the first child that has not begun.
 */
export function currentOf(outline: Outline, { next, inside }: Position): string {
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

/** The child runs that are open in a position. */
export function runsIn({ inside }: Position): { run: RunState; child: ChildRun }[] {
  if (!inside) return [];
  const below = [...inside.chains.values()].flatMap(runsIn);
  const { run, child } = inside;
  return run && child ? [{ run, child }, ...below] : below;
}
