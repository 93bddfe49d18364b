import { BREAK, type ExecutionStatus, LoopMode, RETURN } from "../document/document.ts";
import type { Enclosure, Outline } from "../outline/outline.ts";
import {
  checkCheckpoint,
  type Checkpoint,
  checkpointType,
  type Resumable,
} from "./checkpoint-form.ts";
import { giveAt } from "./fold.ts";
import { dropMarks, keptMarks, marksAt, marksOf, positionBefore, resumeStepOf } from "./marks.ts";
import { comingStep } from "./path.ts";
import { type Marks, newState, type RunState, type Workflow } from "./state.ts";

/** What a checkpoint takes from the workflow and from the moment. */
type CheckpointContext = {
  workflow: Workflow;
  workflowID: string;
  status: ExecutionStatus;
  /** Milliseconds since the epoch. */
  now: number;
};

/** A deep copy of a state, as a checkpoint. */
export function checkpointOf(state: RunState, context: CheckpointContext): Checkpoint {
  const next = state.stopped ? RETURN : resumeStepOf(context.workflow.outline, state.position);
  const { document, outline, registry } = context.workflow;
  return structuredClone({
    _type: checkpointType,
    _version: 2,
    workflowID: context.workflowID,
    currentStepID: next === BREAK ? RETURN : next,
    status: context.status,
    params: state.params,
    paramTypes: registry.paramTypes(),
    variables: state.variables,
    varTypes: registry.varTypes(),
    localVars: state.localVars,
    artifacts: state.artifacts,
    completedSteps: [...state.completedSteps],
    ...marksOf(outline, state),
    eventSeq: state.eventSeq,
    version: document.version,
    createdAt: new Date(context.now).toISOString(),
  });
}

/**
 * The state that a checkpoint has. With `stepID` the run goes on from that step instead, and what
 * is done of the constructs that run again does not count. `runIDFor` gives the run's id.
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
  const all = { completedBranches, loopProgress };
  const at = stepID ?? checkpoint.currentStepID;
  const left = stepID === undefined ? all : dropMarks(outline, stepID, all);
  const marks = marksAt(outline, at, checkpoint.completedSteps ?? [], left);
  const state: RunState = {
    ...newState(workflow, runIDFor(checkpoint.workflowID), checkpoint.params ?? {}),
    localVars: { ...checkpoint.localVars },
    artifacts: { ...checkpoint.artifacts },
    completedSteps: new Set(checkpoint.completedSteps),
    position: positionBefore(outline, at, marks),
    imported: importedBy(outline, marks),
    eventSeq: checkpoint.eventSeq ?? 0,
  };
  Object.assign(state.variables, checkpoint.variables);
  giveAt(workflow, state, comingStep(workflow, state, at)?.path ?? [], overrides);
  return state;
}

/** A state with the values of a checkpoint: they win, and the state's own position stays. */
export function withValues(workflow: Workflow, state: RunState, given: unknown): RunState {
  const { params, variables, localVars, artifacts, eventSeq } = checkCheckpoint(workflow, given);
  return {
    ...state,
    params: { ...state.params, ...params },
    variables: { ...state.variables, ...variables },
    localVars: { ...localVars },
    artifacts: { ...state.artifacts, ...artifacts },
    eventSeq: Math.max(state.eventSeq, eventSeq ?? 0),
  };
}

// Concurrent iterations share the marks of what lies in them: they are those of none.
function importedBy({ enclosuresOf, steps }: Outline, marks: Marks): Marks {
  const isParallel = (part: Enclosure): boolean =>
    part.kind === "loop" && steps.get(part.in)?.mode === LoopMode.parallel;
  const counts = (id: string): boolean => !enclosuresOf(id).some((way) => way.some(isParallel));
  return keptMarks(marks, counts);
}
