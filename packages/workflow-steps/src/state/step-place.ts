import { INPUT, WAIT } from "@uncaged/workflow";
import type { LoggedStep } from "./before.ts";
import type { PathPart } from "./commit.ts";

/** Where one run of a step stands: the step as the log names it, and all constructs around it. */
export type StepPlace = { stepID: string; path: readonly PathPart[] };

/**
 * The run of a step that the step with a number (from 1) belongs to: where it stands, and how many steps
 * come before it. A construct's run begins with the first commit that lies in it, that of a Pause with
 * its question. The place is null where the log has no step that could run again: at the mark of a
 * finished chain, and behind the last step.
 */
export function stepRunAt(
  steps: readonly LoggedStep[],
  number: number,
): { before: number; place: StepPlace | null } {
  const step = steps[number - 1];
  if (!step) return { before: withoutQuestion(steps), place: null };
  // What it gave the run counts for what comes next.
  if (isRerun(step)) return { before: number, place: isPlaced(step) ? placeOf(step) : null };
  if (step.role === INPUT) {
    const asked = steps.slice(0, number - 1).findLastIndex(({ role }) => role === WAIT);
    return stepRunAt(steps, asked + 1);
  }
  const place = placeOf(step);
  if (!place) return { before: number - 1, place };
  return { before: beginOf(steps, number - 1, place), place };
}

// A question that nobody has answered would be answered by what comes next.
const withoutQuestion = (steps: readonly LoggedStep[]): number =>
  steps.length - (steps.at(-1)?.role === WAIT ? 1 : 0);

const isRerun = ({ role, meta }: LoggedStep): boolean => role === INPUT && meta.for === "rerun";

const isPlaced = ({ meta }: LoggedStep): boolean =>
  typeof meta.stepID === "string" && Array.isArray(meta.path);

const pathOf = ({ meta }: LoggedStep): readonly PathPart[] =>
  Array.isArray(meta.path) ? (meta.path as PathPart[]) : [];

function placeOf(step: LoggedStep): StepPlace | null {
  if (step.role === WAIT || isRerun(step))
    return { stepID: String(step.meta.stepID), path: pathOf(step) };
  return step.meta.phase === "mark" ? null : { stepID: step.role, path: pathOf(step) };
}

function beginOf(steps: readonly LoggedStep[], at: number, place: StepPlace): number {
  let first = at;
  for (let index = at - 1; index >= 0; index -= 1) {
    const step = steps[index] as LoggedStep;
    const isIn = isWithin(step, place);
    // A rerun that began elsewhere made an end of what ran before it.
    if (isRerun(step) ? !isIn : isIn && isOver(step, place)) break;
    if (isIn && !isRerun(step)) first = index;
  }
  return first;
}

const isOver = (step: LoggedStep, { path, stepID }: StepPlace): boolean =>
  step.role === stepID && step.meta.phase === "done" && pathOf(step).length === path.length;

/** Whether a step is of a step's run: its own commit, or one that lies in it. */
function isWithin(step: LoggedStep, { path, stepID }: StepPlace): boolean {
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
