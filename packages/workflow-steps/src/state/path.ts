import { INPUT, WAIT } from "@uncaged/workflow";
import { LoopMode } from "../document/document.ts";
import type { StepDocument } from "../document/format.ts";
import { ExpressionEvaluator } from "../expression/expression.ts";
import { distinctWays, type Outline } from "../outline/outline.ts";
import { chainKey, chainOf, type Position } from "./position.ts";
import type { PathPart, RunState, Workflow } from "./state.ts";

/** The position of one run of a step: the step as the log names it, and all constructs around it. */
export type StepAt = { stepID: string; path: readonly PathPart[] };

/**
 * The run of a step that the step with a number (from 1) belongs to: its path, and how many steps
 * come before it. A construct's run begins with the first commit that lies in it, that of a Pause with
 * its question. The path is null where the log has no step that could run again: at the mark of a
 * finished chain, and behind the last step.
 */
export function stepRunAt(
  steps: readonly LoggedStep[],
  number: number,
): { before: number; at: StepAt | null } {
  const step = steps[number - 1];
  if (!step) return { before: withoutQuestion(steps), at: null };
  // What it gave the run counts for what comes next.
  if (isRerun(step)) return { before: number, at: hasPath(step) ? runOf(step) : null };
  if (step.role === INPUT) {
    const asked = steps.slice(0, number - 1).findLastIndex(({ role }) => role === WAIT);
    return stepRunAt(steps, asked + 1);
  }
  const at = runOf(step);
  if (!at) return { before: number - 1, at };
  return { before: beginOf(steps, number - 1, at), at };
}

// A question that nobody has answered would be answered by what comes next.
const withoutQuestion = (steps: readonly LoggedStep[]): number =>
  steps.length - (steps.at(-1)?.role === WAIT ? 1 : 0);

const isRerun = ({ role, meta }: LoggedStep): boolean => role === INPUT && meta.for === "rerun";

const hasPath = ({ meta }: LoggedStep): boolean =>
  typeof meta.stepID === "string" && Array.isArray(meta.path);

const pathOf = ({ meta }: LoggedStep): readonly PathPart[] =>
  Array.isArray(meta.path) ? (meta.path as PathPart[]) : [];

function runOf(step: LoggedStep): StepAt | null {
  if (step.role === WAIT || isRerun(step))
    return { stepID: String(step.meta.stepID), path: pathOf(step) };
  return step.meta.phase === "mark" ? null : { stepID: step.role, path: pathOf(step) };
}

function beginOf(steps: readonly LoggedStep[], last: number, at: StepAt): number {
  let first = last;
  for (let index = last - 1; index >= 0; index -= 1) {
    const step = steps[index] as LoggedStep;
    const isIn = isWithin(step, at);
    // A rerun that began elsewhere made an end of what ran before it.
    if (isRerun(step) ? !isIn : isIn && isEnd(step, at)) break;
    if (isIn && !isRerun(step)) first = index;
  }
  return first;
}

const isEnd = (step: LoggedStep, { path, stepID }: StepAt): boolean =>
  step.role === stepID && step.meta.phase === "done" && pathOf(step).length === path.length;

/** Whether a step is of a step's run: its own commit, or one that lies in it. */
function isWithin(step: LoggedStep, { path, stepID }: StepAt): boolean {
  const inner = pathOf(step);
  if (!path.every((part, depth) => isSamePart(part, inner[depth]))) return false;
  const below = inner[path.length];
  if (below) return below.in === idIn(stepID, path);
  return (step.role === WAIT || isRerun(step) ? step.meta.stepID : step.role) === stepID;
}

function isSamePart(one: PathPart, other: PathPart | undefined): boolean {
  if (one.in !== other?.in) return false;
  if ("run" in one) return "run" in other && one.run === other.run;
  return "child" in other && one.child === other.child && one.iteration === other.iteration;
}

/** The id of a step in its own workflow: without the steps that run the workflows around it. */
export function idIn(stepID: string, path: readonly PathPart[]): string {
  const parents = path.filter((part) => "run" in part);
  return stepID.slice(parents.reduce((sum, part) => sum + part.in.length + 1, 0));
}

/** A step of a thread's log, as far as it is looked at here. */
export type LoggedStep = { role: string; meta: Record<string, unknown> };

/** A run of a step in a log: how many steps come before it, and where it ran; null when it has not run. */
export type StepRun = { before: number; path: PathPart[] | null };

/**
 * A step's last run in a thread's log, or its `nth`, counted from 1. The run of a step with children
 * begins with the first commit that lies in it, that of a Pause with its question.
 *
 * A step that has not run, such as one that failed, comes after all steps. Null when there is no `nth`
 * run.
 */
export function stepRun(
  steps: readonly LoggedStep[],
  stepID: string,
  nth?: number,
): StepRun | null {
  const runs = runsOf(steps, stepID);
  if (nth !== undefined) return runs[nth - 1] ?? null;
  return runs.at(-1) ?? { before: withoutQuestion(steps), path: null };
}

/** How many of a thread's steps come before the run that {@link stepRun} gives. */
export const stepsBefore = (
  steps: readonly LoggedStep[],
  stepID: string,
  nth?: number,
): number | null => stepRun(steps, stepID, nth)?.before ?? null;

/** Where each run of a step begins, in the order in which they ended; those that did not end come last. */
function runsOf(steps: readonly LoggedStep[], stepID: string): StepRun[] {
  const begun = new Map<string, StepRun>();
  const runs: StepRun[] = [];
  for (const [at, step] of steps.entries()) {
    const path = runPathOf(step, stepID);
    if (path === null) continue;
    const key = JSON.stringify(path);
    const run = begun.get(key) ?? { before: at, path: [...path] };
    const isOver = step.role === stepID && step.meta.phase === "done";
    if (isOver) runs.push(run);
    if (isOver) begun.delete(key);
    else begun.set(key, run);
  }
  return [...runs, ...[...begun.values()].toSorted((one, other) => one.before - other.before)];
}

/** The path of the step's run that a commit belongs to; null when it belongs to none. */
function runPathOf(step: LoggedStep, stepID: string): readonly PathPart[] | null {
  const { role, meta } = step;
  const path = pathOf(step);
  const child = path.findIndex((part) => "run" in part);
  const isOwn = role === stepID && child < 0 && meta.phase !== "mark";
  if (role === WAIT ? meta.stepID === stepID : isOwn) return path;
  const own = child < 0 ? path : path.slice(0, child + 1);
  const depth = own.findLastIndex((part) => part.in === stepID);
  return depth < 0 ? null : path.slice(0, depth);
}

/**
 * The steps of a log, by number from 0, that a rerun of a step's run keeps: those before it, and those of
 * the chains that ran concurrently with it.
 */
export function keptWith(
  { steps: byID }: Outline,
  steps: readonly LoggedStep[],
  { before, path }: StepRun,
): number[] {
  const kept = Array.from({ length: before }, (_, index) => index);
  let asked: number | null = null;
  for (let index = before; path && index < steps.length; index += 1) {
    const step = steps[index] as LoggedStep;
    const own = pathOf(step);
    if (isRerun(step) || path.some((part, depth) => isEndOf(step, part, path.slice(0, depth)))) {
      break;
    }
    if (step.role === INPUT) {
      if (asked !== null) kept.push(asked, index);
      asked = null;
      continue;
    }
    const depth = path.findIndex((part, at) => !isSamePart(part, own[at]));
    const [mine, other] = [path[depth], own[depth]];
    if (!mine || !other || mine.in !== other.in || !("child" in mine) || !("child" in other))
      continue;
    const isSame = mine.iteration === other.iteration;
    const isParallel = byID.get(mine.in)?.mode === LoopMode.parallel;
    const isArm = mine.iteration === undefined && !isForked(byID.get(mine.in), mine.child);
    if (isArm || (!isSame && !isParallel)) continue;
    if (step.role === WAIT) asked = index;
    else kept.push(index);
  }
  return kept;
}

// The step is what ends a construct around the run: what comes then was done after it.
const isEndOf = (step: LoggedStep, part: PathPart, around: readonly PathPart[]): boolean =>
  step.role === part.in &&
  step.meta.phase === "done" &&
  pathOf(step).length === around.length &&
  around.every((one, depth) => isSamePart(one, pathOf(step)[depth]));

const isForked = (step: StepDocument | undefined, child: string): boolean =>
  step === undefined || (step.children ?? []).includes(child);

/**
 * The position of a step that the run comes to next, such as one that failed. Null when that can't
 * be known: when several chains come to it, or it lies in several constructs.
 */
export function comingStep(
  { outline }: Workflow,
  { position }: RunState,
  stepID: string,
): StepAt | null {
  const begun = pathsTo(position, stepID, []);
  const [path] = begun;
  if (path) return begun.length === 1 ? { stepID, path } : null;
  const ways = distinctWays(outline.enclosuresOf(stepID));
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

/**
 * The locals that a step at a path of a run sees: those of the run, and `_item`, `_index` and
 * `_iterDir` of the iterations around it. An `_item` that is not known is left out.
 */
export function localsAt(
  workflow: Workflow,
  state: RunState,
  path: readonly PathPart[],
): Record<string, unknown> {
  const locals = { ...state.localVars };
  let at: Position | undefined = state.position;
  for (const part of path) {
    const inside: Position["inside"] = at?.next === part.in ? at.inside : null;
    if (!("child" in part)) break;
    const { child, iteration } = part;
    if (iteration !== undefined) {
      const own = iterationLocals(workflow, { ...state, localVars: locals }, part.in, iteration);
      Object.assign(locals, own, inside?.given.get(iteration));
    }
    at = inside?.chains.get(chainKey(child, iteration));
  }
  return locals;
}

function iterationLocals(
  { document, outline }: Workflow,
  { localVars, params, runID, variables }: RunState,
  loop: string,
  iteration: number,
): Record<string, unknown> {
  const { name: workflow, version } = document;
  const SYSVAR = { runID, workflowID: runID, workflow, version };
  const evaluator = new ExpressionEvaluator({ ...params, ...variables, ...localVars, SYSVAR });
  const numbered = { _index: iteration, _iterDir: `${loop}_${iteration}` };
  const step = outline.steps.get(loop);
  if (step?.while !== undefined) return { _item: null, ...numbered };
  try {
    const source = evaluator.resolve(step?.source);
    return Array.isArray(source) ? { _item: source[iteration] ?? null, ...numbered } : numbered;
  } catch {
    return numbered;
  }
}
