import { RETURN } from "../document/constants.ts";
import type { ChildRun, Commit, PathPart } from "./commit.ts";
import type { RunState } from "./state.ts";

/**
 * Where a chain stands: `next` is the step that it comes to (or `RETURN`, `BREAK`), and `inside` is set
 * when that step is a construct that was entered: its `if` and its cases are not tested again.
 */
export type Position = { next: string; inside: Inside | null };

/** What a step's own work gave that is done: the case of a Branch, and where it led if not to `next`. */
export type BodyDone = { selected?: string | null; next?: string };

/**
 * How far a construct is that was entered. `finished` counts a loop's whole iterations; `chains` are
 * its chains by `chainKey`; `given` are the locals that a rerun gave a loop's iterations, by number;
 * `run` is the state of the child workflow that the step started.
 */
export type Inside = {
  body: BodyDone | null;
  finished: number;
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
  chains: new Map(),
  given: new Map(),
  run: null,
  child: null,
});

/** What tells the chains of one construct apart. */
export const chainKey = (child: string, iteration?: number): string =>
  iteration === undefined ? child : `${iteration}/${child}`;

/** The chain that a key stands for. */
export function chainOf(key: string): { child: string; iteration?: number } {
  const slash = key.indexOf("/");
  return slash < 0 ? { child: key } : { child: key.slice(slash + 1), iteration: iterationOf(key) };
}

/** The iteration that a chain's key names. */
export const iterationOf = (key: string): number => Number.parseInt(key, 10);

/**
 * The chain of `path` in a position; chains and constructs on the way that are not there yet are
 * entered. A part that is a child's run must have been taken off before.
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

/** The construct that a chain stands in, entered when it was not. */
export function insideAt(at: Position, construct: string): Inside {
  if (at.next === construct && at.inside) return at.inside;
  at.next = construct;
  at.inside = entered();
  return at.inside;
}

/** Moves the position to where a commit says that its chain stands. */
export function moveTo(root: Position, role: string, commit: Commit): void {
  const at = chainAt(root, commit.path);
  if (commit.phase === "body") {
    const inside = insideAt(at, role);
    inside.body = commit.child === undefined ? bodyOf(commit) : null;
    inside.run = null;
  } else {
    at.next = commit.next;
    at.inside = null;
  }
  for (const [loop, finished] of Object.entries(commit.loopProgress)) {
    if (finished !== null) finishIterations(root, commit.path, loop, finished);
  }
}

const bodyOf = ({ leadsTo, selected }: Commit): BodyDone => ({
  ...(selected !== undefined && { selected }),
  ...(leadsTo !== undefined && { next: leadsTo }),
});

// What a finished iteration did stands in the variables: how its chains stood is of no use.
function finishIterations(
  root: Position,
  path: readonly PathPart[],
  loop: string,
  finished: number,
): void {
  const depth = path.findLastIndex((part) => part.in === loop);
  if (depth < 0) return;
  const inside = insideAt(chainAt(root, path.slice(0, depth)), loop);
  inside.finished = finished;
  for (const key of inside.chains.keys()) {
    if (iterationOf(key) < finished) inside.chains.delete(key);
  }
}

/** Whether some chain's next step is this one, not entered yet. */
export function standsBefore({ next, inside }: Position, id: string): boolean {
  if (!inside) return next === id;
  return [...inside.chains.values()].some((chain) => standsBefore(chain, id));
}

/** Whether a chain has ended. */
export const hasEnded = ({ next, inside }: Position): boolean =>
  inside === null && (next === RETURN || next === "BREAK");

/** The step that a run comes to next, inside of its constructs: that of the first chain which is open. */
export function currentOf({ next, inside }: Position): string {
  const open = [...(inside?.chains.values() ?? [])].find((chain) => !hasEnded(chain));
  return open ? currentOf(open) : next;
}

/** The child runs that are open in a position. */
export function runsIn({ inside }: Position): RunState[] {
  if (!inside) return [];
  const below = [...inside.chains.values()].flatMap(runsIn);
  return inside.run ? [inside.run, ...below] : below;
}
