import { BREAK, RETURN } from "../document/constants.ts";
import type { ExecutionStatus } from "../document/constants.ts";
import type { Artifact } from "./commit.ts";
import { currentMarks } from "./current-marks.ts";
import type { RunState } from "./state.ts";
import type { Workflow } from "./workflow.ts";

/** The `_type` of a checkpoint. */
export const checkpointType = "vl_workflow_checkpoint";

/**
 * A run's state as JSON, version 2 of the documented format. `currentStepID` is the step that runs
 * next; inside a construct it is the outermost construct's id, after the last step and after a Stop
 * `RETURN`. `threadId` and `steps` are there when it is a fold of a thread's log.
 */
export type Checkpoint = {
  _type: typeof checkpointType;
  _version: 2;
  workflowID: string;
  currentStepID: string;
  status: ExecutionStatus;
  params: Record<string, unknown>;
  paramTypes: Record<string, string>;
  variables: Record<string, unknown>;
  varTypes: Record<string, string>;
  localVars: Record<string, unknown>;
  artifacts: Record<string, Artifact>;
  completedSteps: string[];
  completedBranches: Record<string, string[]>;
  loopProgress: Record<string, number>;
  eventSeq: number;
  version: string;
  createdAt: string;
  threadId?: string;
  steps?: number;
};

/** What a checkpoint takes from the workflow and from the moment. */
export type CheckpointFrame = {
  workflow: Workflow;
  workflowID: string;
  status: ExecutionStatus;
  /** Milliseconds since the epoch. */
  now: number;
};

/** A deep copy of a state, as a checkpoint. */
export function checkpointOf(state: RunState, frame: CheckpointFrame): Checkpoint {
  const next = state.stopped ? RETURN : state.position.next;
  const { document, outline, registry } = frame.workflow;
  return structuredClone({
    _type: checkpointType,
    _version: 2,
    workflowID: frame.workflowID,
    currentStepID: next === BREAK ? RETURN : next,
    status: frame.status,
    params: state.params,
    paramTypes: registry.paramTypes(),
    variables: state.variables,
    varTypes: registry.varTypes(),
    localVars: state.localVars,
    artifacts: state.artifacts,
    completedSteps: [...state.completedSteps],
    ...currentMarks(outline, state),
    eventSeq: state.eventSeq,
    version: document.version,
    createdAt: new Date(frame.now).toISOString(),
  });
}
