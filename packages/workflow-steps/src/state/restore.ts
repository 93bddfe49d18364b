import { LoopMode } from "../document/constants.ts";
import type { Enclosure } from "../outline/enclosure.ts";
import type { Outline } from "../outline/outline.ts";
import type { Checkpoint } from "./checkpoint.ts";
import { checkCheckpoint } from "./check-checkpoint.ts";
import { comingPlace } from "./coming-place.ts";
import { marksAt } from "./current-marks.ts";
import type { Marks } from "./marks.ts";
import { giveAt } from "./overrides.ts";
import { dropMarks, positionBefore } from "./place.ts";
import { newState, type RunState } from "./state.ts";
import type { Workflow } from "./workflow.ts";

/** What a run can be taken up from: a checkpoint, or an object with as little as the step's id. */
export type Resumable = Partial<Omit<Checkpoint, "_type" | "_version">> & {
  _type?: string;
  _version?: number;
  currentStepID: string;
};

/**
 * The state that a checkpoint tells of. With `stepID` the run goes on from that step instead, and what
 * is done of the constructs that run again does not count. `runIDFor` says the run's id.
 *
 * @throws WorkflowError `CHECKPOINT_INVALID`, `PARAMS_INVALID`, `NO_SUCH_STEP`, `STEP_AMBIGUOUS`,
 * `OVERRIDE_UNKNOWN`, `VALUE_NOT_JSON`.
 */
export function restoredState(
  workflow: Workflow,
  given: Resumable,
  {
    runIDFor,
    stepID,
    overrides = {},
  }: {
    runIDFor: (workflowID: string | undefined) => string;
    stepID?: string;
    overrides?: Record<string, unknown>;
  },
): RunState {
  const checkpoint = checkCheckpoint(workflow, given);
  const { outline } = workflow;
  const { completedBranches = {}, loopProgress = {} } = checkpoint;
  const told = { completedBranches, loopProgress };
  const at = stepID ?? checkpoint.currentStepID;
  const left = stepID === undefined ? told : dropMarks(outline, stepID, told);
  const marks = marksAt(outline, at, checkpoint.completedSteps ?? [], left);
  const state: RunState = {
    ...newState(workflow, runIDFor(checkpoint.workflowID), checkpoint.params ?? {}),
    localVars: { ...checkpoint.localVars },
    artifacts: { ...checkpoint.artifacts },
    completedSteps: new Set(checkpoint.completedSteps),
    ...marks,
    position: positionBefore(outline, at, marks),
    carried: carriedBy(outline, marks),
    eventSeq: checkpoint.eventSeq ?? 0,
  };
  Object.assign(state.variables, checkpoint.variables);
  giveAt(workflow, state, comingPlace(workflow, state, at)?.path ?? [], overrides);
  return state;
}

// Iterations side by side share the marks of what lies in them: these tell nothing of any one.
function carriedBy({ enclosuresOf, steps }: Outline, marks: Marks): Set<string> {
  const isParallel = (part: Enclosure): boolean =>
    part.kind === "loop" && steps.get(part.in)?.mode === LoopMode.parallel;
  const ids = [...Object.keys(marks.completedBranches), ...Object.keys(marks.loopProgress)];
  return new Set(ids.filter((id) => !enclosuresOf(id).some((way) => way.some(isParallel))));
}
