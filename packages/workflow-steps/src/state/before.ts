import { WAIT } from "@uncaged/workflow";

/** A step of a thread's log, as far as it is looked at here. */
export type LoggedStep = { role: string; meta: Record<string, unknown> };

type Part = { in: string; run?: string };

/**
 * How many of a thread's steps come before a step's last run, or before its `nth`, counted from 1: the
 * steps that a rerun from it keeps. The run of a step with children begins with the first commit that
 * lies in it, that of a Pause with its question.
 *
 * A step that has not run, such as one that failed, comes after all steps. Null when there is no `nth`
 * run.
 */
export function stepsBefore(
  steps: readonly LoggedStep[],
  stepID: string,
  nth?: number,
): number | null {
  const runs = runsOf(steps, stepID);
  if (nth !== undefined) return runs[nth - 1] ?? null;
  return runs.at(-1) ?? withoutQuestion(steps);
}

// A question that nobody has answered is no part of what is kept: what comes next would be its answer.
const withoutQuestion = (steps: readonly LoggedStep[]): number =>
  steps.length - (steps.at(-1)?.role === WAIT ? 1 : 0);

/** Where each run of a step begins, in the order in which they ended; those that did not end come last. */
function runsOf(steps: readonly LoggedStep[], stepID: string): number[] {
  const begun = new Map<string, number>();
  const runs: number[] = [];
  for (const [at, step] of steps.entries()) {
    const place = placeIn(step, stepID);
    if (place === null) continue;
    const from = begun.get(place) ?? at;
    const isOver = step.role === stepID && step.meta.phase === "done";
    if (isOver) runs.push(from);
    if (isOver) begun.delete(place);
    else begun.set(place, from);
  }
  return [...runs, ...[...begun.values()].toSorted((one, other) => one - other)];
}

/** Where the run of the step stands that a commit belongs to, as a key; null when it belongs to none. */
function placeIn({ role, meta }: LoggedStep, stepID: string): string | null {
  const path = Array.isArray(meta.path) ? (meta.path as Part[]) : [];
  const child = path.findIndex(({ run }) => run !== undefined);
  const isOwn = role === stepID && child < 0 && meta.phase !== "mark";
  if (role === WAIT ? meta.stepID === stepID : isOwn) {
    return JSON.stringify(path);
  }
  const own = child < 0 ? path : path.slice(0, child + 1);
  const depth = own.findLastIndex((part) => part.in === stepID);
  return depth < 0 ? null : JSON.stringify(path.slice(0, depth));
}
