import { WorkflowError } from "@uncaged/workflow";
import { ENTRY, getStepType, RETURN } from "../document/document.ts";
import type { Enclosure, Outline } from "../outline/outline.ts";
import type { Marks } from "./checkpoint.ts";
import type { ChildRun, Commit, PathPart, RunState } from "./state.ts";

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

/**
 * Where a run stands that begins at a step of the caller's choice: inside every construct that the
 * step lies in, as the marks of a checkpoint say. A checkpoint can't tell how far the other chains
 * are: those that are not marked run from their entry.
 *
 * @throws WorkflowError `NO_SUCH_STEP` (missing); `STEP_AMBIGUOUS` when it lies in several constructs.
 */
export function positionBefore(outline: Outline, id: string, marks: Marks): Position {
  if (id === RETURN) return startAt(RETURN);
  if (id !== ENTRY && !outline.steps.has(id)) throw noSuchStep(outline, id);
  const ways = id === ENTRY ? [[]] : outline.enclosuresOf(id);
  const [way = []] = ways;
  if (ways.length > 1) throw ambiguous(id, ways);
  return way.reduceRight<Position>(
    (inner, enclosure) => enclosing(outline, enclosure, marks, inner),
    constructAt(outline, id, marks),
  );
}

/** The marks without those of the constructs that run again when a step does. */
export function dropMarks(outline: Outline, id: string, marks: Marks): Marks {
  const again = outline.reachableFrom(id);
  const kept = <T>(record: Record<string, T>): Record<string, T> =>
    Object.fromEntries(Object.entries(record).filter(([construct]) => !again.has(construct)));
  return {
    completedBranches: kept(marks.completedBranches),
    loopProgress: kept(marks.loopProgress),
  };
}

/** A construct as its marks tell of it; null when none of it is done. */
export function insideOf(outline: Outline, id: string, marks: Marks): Inside | null {
  const inside = marked(outline, id, marks);
  return inside.finished > 0 || inside.chains.size > 0 ? inside : null;
}

const constructAt = (outline: Outline, id: string, marks: Marks): Position => ({
  next: id,
  inside: insideOf(outline, id, marks),
});

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
  const children = marks.completedBranches[id] ?? [];
  const inside = entered(children.length > 0 ? {} : null);
  for (const child of children) inside.chains.set(child, startAt(RETURN));
  return inside;
}

function noSuchStep(outline: Outline, id: string): WorkflowError {
  const ids = [...outline.steps.keys()];
  const shown = ids.slice(0, 20).join(", ");
  return new WorkflowError({
    code: "NO_SUCH_STEP",
    kind: "missing",
    message: `the workflow has no step ${JSON.stringify(id)}`,
    hint: `its steps: ${shown}${ids.length > 20 ? ", …" : ""}`,
  });
}

function ambiguous(id: string, ways: Enclosure[][]): WorkflowError {
  const places = ways.map((way) => way.map((part) => part.in).join(" > ") || "the top");
  return new WorkflowError({
    code: "STEP_AMBIGUOUS",
    kind: "failed",
    message: `${id} lies in several constructs: ${places.slice(0, 10).join("; ")}`,
    hint: "begin at one of these constructs instead",
  });
}
