import { ExecutionStatus } from "../document/constants.ts";
import type { PathPart } from "../state/commit.ts";
import { runAt } from "../state/begin-at.ts";
import { comingPlace } from "../state/coming-place.ts";
import { localsAt } from "../state/locals.ts";
import { currentOf, hasEnded } from "../state/position.ts";
import { stepRunAt } from "../state/step-place.ts";
import { readWorkflow } from "../state/workflow.ts";
import type { Documents } from "./describe.ts";
import type { RecordedThread } from "./recorded.ts";
import { finder, foldSteps } from "./thread.ts";

/** The values that a step of a thread began with, and where it stands. */
export type StepValues = {
  /** How many of the thread's steps come before it. */
  steps: number;
  /** As the log names it: `parent/child` in a child's run. Null where no step is known. */
  stepID: string | null;
  path: PathPart[];
  /** The step that runs the workflow whose values these are; null for the thread's own. */
  within: string | null;
  params: Record<string, unknown>;
  variables: Record<string, unknown>;
  localVars: Record<string, unknown>;
};

/**
 * What the run of a step began with that the step with a number (from 1) belongs to: the values of the
 * thread, or of the child workflow that it is a step of. The number behind the last one is that of the
 * step which comes next; `coming` says which that is, where it is known. Null when nothing comes next.
 */
export function recordedValues(
  { document, subflows }: Documents,
  thread: RecordedThread,
  number: number,
  coming: string | null = null,
): StepValues | null {
  const { before, place: ran } = stepRunAt(thread.steps, number);
  const workflow = readWorkflow(document);
  const steps = thread.steps.slice(0, before);
  const state = foldSteps(workflow, {
    ...thread,
    subflows,
    steps,
    status: ExecutionStatus.running,
  });
  if (!ran && (state.stopped !== null || hasEnded(state.position))) return null;
  const place = ran ?? comingPlace(workflow, state, coming ?? currentOf(state.position));
  const path = place?.path ?? [];
  const run = runAt({ workflow, state, path }, finder(subflows));
  const parents = path.filter((part) => "run" in part).map((part) => part.in);
  return {
    steps: before,
    stepID: place?.stepID ?? null,
    path: [...path],
    within: parents.length > 0 ? parents.join("/") : null,
    params: run.state.params,
    variables: run.state.variables,
    localVars: localsAt(run.workflow, run.state, run.path),
  };
}
