import { INPUT, WAIT } from "@uncaged/workflow";
import type { PathPart } from "@uncaged/workflow/interpreter";
import { type Outline } from "../document/outline.ts";
import { isParallel } from "./position.ts";
import type { StepAt } from "./state.ts";

/*
 * The runs of steps in a thread's log. A committed step belongs to its own run and to the runs of all enclosing
 * constructs and child workflows. A run begins with its first committed step; a Pause begins with its question.
 */

export type LoggedStep = { role: string; meta: Record<string, unknown> };

/** A run of a step in a log: the number of steps before it, and its path. The path is null if the step has not run. */
export type StepRun = { before: number; path: PathPart[] | null };

const isRerun = ({ role, meta }: LoggedStep): boolean => role === INPUT && meta.for === "rerun";

const pathOf = ({ meta }: LoggedStep): readonly PathPart[] =>
  Array.isArray(meta.path) ? (meta.path as PathPart[]) : [];

/** Returns the run of a committed step itself; null for an answer and for the mark of a finished chain. */
function ownRun(step: LoggedStep): StepAt | null {
  const { role, meta } = step;
  if (role === WAIT || isRerun(step)) return { stepID: String(meta.stepID), path: pathOf(step) };
  return role === INPUT || meta.phase === "mark" ? null : { stepID: role, path: pathOf(step) };
}

/** Returns the runs of a path's constructs, outermost first. */
const runsAround = (path: readonly PathPart[]): StepAt[] =>
  path.map((part, depth) => {
    const around = path.slice(0, depth);
    return { stepID: `${prefixAt(around)}${part.in}`, path: around };
  });

// In a child workflow, a step's id is prefixed with the ids of its parent steps.
const prefixAt = (path: readonly PathPart[]): string =>
  path.map((part) => ("run" in part ? `${part.in}/` : "")).join("");

/** Returns the id of a step in its own workflow, without the prefix. */
export const idIn = ({ stepID, path }: StepAt): string => stepID.slice(prefixAt(path).length);

const keyOf = ({ stepID, path }: StepAt): string =>
  JSON.stringify([stepID, ...path.map(keyOfPart)]);

const keyOfPart = (part: PathPart | undefined): string =>
  part === undefined
    ? ""
    : JSON.stringify(
        "run" in part ? [part.in, part.run, ""] : [part.in, part.child, part.iteration],
      );

/** Returns the starts of the matching runs: first the finished runs in the order of their ends, then the open runs. */
function runsOf(steps: readonly LoggedStep[], isMeant: (run: StepAt) => boolean) {
  const ended: { before: number; path: PathPart[] }[] = [];
  const open = new Map<string, (typeof ended)[number]>();
  for (const [before, step] of steps.entries()) {
    const own = ownRun(step);
    const all = [...runsAround(pathOf(step)), ...(own ? [own] : [])];
    if (isRerun(step)) {
      const keys = all.map(keyOf);
      // A rerun at a different step ended this run.
      const isElsewhere = (key: string): boolean =>
        step.meta.stepID !== undefined && !keys.includes(key);
      for (const key of open.keys()) if (isElsewhere(key)) open.delete(key);
      continue;
    }
    for (const run of all) {
      if (!isMeant(run)) continue;
      const key = keyOf(run);
      const begun = open.get(key) ?? { before, path: [...run.path] };
      open.set(key, begun);
      if (run === own && step.meta.phase === "done" && open.delete(key)) ended.push(begun);
    }
  }
  return [...ended, ...open.values()];
}

/**
 * Returns a step's last run in a log, or its `nth` run (from 1); null for a missing `nth` run. Without any run, returns
 * a null path.
 */
export function stepRun(
  steps: readonly LoggedStep[],
  stepID: string,
  nth?: number,
): StepRun | null {
  const runs = runsOf(steps, (run) => run.stepID === stepID);
  if (nth !== undefined) return runs[nth - 1] ?? null;
  return runs.at(-1) ?? { before: withoutQuestion(steps), path: null };
}

/** Returns the number of steps, not counting a question at the end. */
export const withoutQuestion = (steps: readonly LoggedStep[]): number =>
  steps.length - (steps.at(-1)?.role === WAIT ? 1 : 0);

/**
 * Returns the run of the step with a number (from 1). `at` is null for the mark of a finished chain and for a number
 * beyond the log.
 */
export function stepRunAt(
  steps: readonly LoggedStep[],
  number: number,
): { before: number; at: StepAt | null } {
  const step = steps[number - 1];
  if (!step) return { before: withoutQuestion(steps), at: null };
  const at = ownRun(step);
  // A rerun's values apply to the step after it.
  if (isRerun(step)) return { before: number, at: Array.isArray(step.meta.path) ? at : null };
  if (step.role === INPUT) {
    const asked = steps.slice(0, number - 1).findLastIndex(({ role }) => role === WAIT);
    return stepRunAt(steps, asked + 1);
  }
  if (!at) return { before: number - 1, at };
  const key = keyOf(at);
  const isMeant = (run: StepAt): boolean => run.stepID === at.stepID && keyOf(run) === key;
  return { before: runsOf(steps.slice(0, number), isMeant).at(-1)?.before ?? number - 1, at };
}

/**
 * Returns the numbers (from 0) of the steps that a rerun keeps: the steps before the run, and the steps of concurrent
 * chains.
 */
export function keptWith(
  outline: Outline,
  steps: readonly LoggedStep[],
  { before, path }: StepRun,
): number[] {
  const kept = Array.from({ length: before }, (_, index) => index);
  const around = new Set(runsAround(path ?? []).map(keyOf));
  let asked: number | null = null;
  for (let index = before; path && index < steps.length; index += 1) {
    const step = steps[index] as LoggedStep;
    const own = ownRun(step);
    // Drop the steps after the end of a construct that encloses the run.
    if (isRerun(step) || (own && step.meta.phase === "done" && around.has(keyOf(own)))) break;
    if (step.role === INPUT) {
      if (asked !== null) kept.push(asked, index);
      asked = null;
    } else if (isBeside(outline, path, pathOf(step))) {
      if (step.role === WAIT) asked = index;
      else kept.push(index);
    }
  }
  return kept;
}

/** Returns whether two paths are in concurrent chains. */
function isBeside(outline: Outline, one: readonly PathPart[], other: readonly PathPart[]): boolean {
  const depth = one.findIndex((part, at) => keyOfPart(part) !== keyOfPart(other[at]));
  const [mine, theirs] = [one[depth], other[depth]];
  if (!mine || mine.in !== theirs?.in || !("child" in mine) || !("child" in theirs)) return false;
  if (mine.iteration !== theirs.iteration) return isParallel(outline, mine.in);
  // The arms of a Branch are not concurrent.
  const construct = outline.steps.get(mine.in);
  const isFork = construct === undefined || (construct.children ?? []).includes(mine.child);
  return mine.iteration !== undefined || isFork;
}
