import { INPUT, type RoleOutput, type ThreadInput } from "@uncaged/workflow";
import type { WorkflowDocument } from "../document/document.ts";
import type { ExecutionStatus } from "../document/constants.ts";
import { type Checkpoint, checkpointOf } from "../state/checkpoint.ts";
import { comingPlace } from "../state/coming-place.ts";
import type { PathPart } from "../state/commit.ts";
import { beginAt } from "../state/begin-at.ts";
import { type FindWorkflow, Fold } from "../state/fold.ts";
import { currentOf, standsBefore } from "../state/position.ts";
import { giveAt } from "../state/overrides.ts";
import { type Resumable, restoredState } from "../state/restore.ts";
import { newState, type RunState } from "../state/state.ts";
import { readWorkflow, type Workflow } from "../state/workflow.ts";
import { paramsOf } from "./params.ts";
import { type RerunMeta, toldBy } from "./step.ts";

/** What a thread of a step workflow began with, and its steps so far. */
export type FoldedThread = ThreadInput & {
  threadId: string;
  /** Documents of child workflows by the path that a step names. */
  subflows?: Readonly<Record<string, WorkflowDocument>>;
  status?: ExecutionStatus;
};

/**
 * The checkpoint of a thread: a fold of its steps.
 *
 * @throws WorkflowError `NOT_STEPS` when it is no thread of a step workflow, and those of the params.
 */
export function fold(document: WorkflowDocument, thread: FoldedThread): Checkpoint {
  const workflow = readWorkflow(document);
  const state = foldSteps(workflow, thread);
  const last = thread.steps.at(-1)?.timestamp ?? Date.now();
  return {
    ...checkpointOf(state, {
      workflow,
      workflowID: thread.threadId,
      status: thread.status ?? "running",
      now: last,
    }),
    threadId: thread.threadId,
    steps: thread.steps.length,
  };
}

/** The state that a thread's steps make. Each step costs its own size. */
export function foldSteps(workflow: Workflow, thread: FoldedThread): RunState {
  const { threadId, steps, subflows = {} } = thread;
  const params = beginsAnew(thread) ? {} : paramsOf(workflow.registry, thread);
  const find = finder(subflows);
  let folded = new Fold(newState(workflow, threadId, params), find);
  let asked: { stepID: string; path: PathPart[] } | null = null;
  for (const [index, step] of steps.entries()) {
    const told = toldBy(step, index + 1);
    if (told.kind === "commit") folded.apply(step.role, told.commit);
    else if (told.kind === "pause") asked = told;
    else if (told.kind === "rerun")
      folded = new Fold(rerun(workflow, folded.state, told.meta, find), find);
    else if (asked) folded.answer({ ...asked, ...answerIn(step) });
  }
  return folded.state;
}

/** Finds the workflows of children: built into the bundle, or kept with the step that runs one. */
export const finder =
  (subflows: Readonly<Record<string, WorkflowDocument>>): FindWorkflow =>
  ({ workflow: path, document }) =>
    readWorkflow(document ?? (subflows[path] as WorkflowDocument));

// What comes before a checkpoint does not count, nor does what the thread was started with.
const beginsAnew = ({ steps: [first] }: FoldedThread): boolean =>
  first?.role === INPUT && first.meta.for === "rerun" && first.meta.checkpoint !== undefined;

/** The answer that an `__input__` step gives to a Pause. */
export function answerIn({ content, meta }: RoleOutput): {
  payload: unknown;
  requestId?: string;
  timedOut: boolean;
} {
  const given = ["payload", "value"].find((name) => Object.hasOwn(meta, name));
  const payload = given === undefined ? content : meta[given];
  const { requestId, timedOut } = meta;
  return {
    payload,
    ...(typeof requestId === "string" && { requestId }),
    timedOut: timedOut === true,
  };
}

/** The state in which a rerun begins. */
function rerun(workflow: Workflow, state: RunState, meta: RerunMeta, find: FindWorkflow): RunState {
  const { stepID, path, overrides = {}, checkpoint } = meta;
  const { runID } = state;
  if (checkpoint !== undefined) {
    return restoredState(workflow, checkpoint as Resumable, {
      runIDFor: () => runID,
      stepID,
      overrides,
    });
  }
  if (stepID !== undefined && path !== undefined) {
    beginAt({ workflow, state }, { stepID, path }, overrides, find);
    return { ...state, stopped: null };
  }
  if (stepID !== undefined && !standsBefore(state.position, stepID)) {
    const { params, variables, localVars, artifacts, eventSeq } = state;
    const { completedBranches, loopProgress } = state;
    const completedSteps = [...state.completedSteps];
    const marks = { completedBranches, loopProgress };
    const values = { params, variables, localVars, artifacts, completedSteps, ...marks, eventSeq };
    const resumable = { currentStepID: stepID, ...values };
    const placed = restoredState(workflow, resumable, { runIDFor: () => runID, stepID, overrides });
    return { ...placed, writeSeq: state.writeSeq };
  }
  const place = comingPlace(workflow, state, stepID ?? currentOf(state.position));
  giveAt(workflow, state, place?.path ?? [], overrides);
  return { ...state, stopped: null };
}
