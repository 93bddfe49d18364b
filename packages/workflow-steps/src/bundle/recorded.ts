import { type PathPart, WAIT } from "@uncaged/workflow";
import { valuesOf, type WorkflowSnapshot } from "../context/context.ts";
import { ExecutionStatus, failure, RETURN } from "../document/document.ts";
import type { Checkpoint } from "../state/checkpoint.ts";
import { stepRunAt } from "../state/path.ts";
import { comingStep, currentOf, hasEnded } from "../state/position.ts";
import { localsAt, runAt } from "../state/fold.ts";
import {
  type Documents,
  newState,
  readWorkflow,
  type RunState,
  type Workflow,
} from "../state/state.ts";
import { documentsIn } from "./describe.ts";
import { fold, type FoldedThread, foldSteps } from "./thread.ts";

/** A thread as it is recorded; `status` is the thread's own. */
export type RecordedThread = Omit<FoldedThread, "status" | "subflows"> & { status: string };

/**
 * The documents of the step workflow that a bundle was made of.
 *
 * @throws WorkflowError `NO_STEP_WORKFLOW`, `DOCUMENT_TOO_LONG` for more than a descriptor holds.
 */
export function documentsOf(hash: string, descriptor: object | null): Documents {
  const { document, subflows } = (descriptor && documentsIn(descriptor)) ?? {};
  if (document && subflows) return { document, subflows };
  if (subflows) {
    throw failure(
      "DOCUMENT_TOO_LONG",
      `the step workflow of ${hash} is too long to stand in the bundle's descriptor`,
      "512 Ki characters are the most; go on from its steps: uncaged-workflow fork <id> --at-step N",
    );
  }
  throw failure(
    "NO_STEP_WORKFLOW",
    `the bundle ${hash} was made of no step workflow`,
    "see a thread's steps: uncaged-workflow thread <id> --steps; go on from one: uncaged-workflow fork <id>",
  );
}

/** The checkpoint of a recorded thread: the state that its committed steps make. */
export function recordedCheckpoint(
  { document, subflows }: Documents,
  thread: RecordedThread,
): Checkpoint {
  const folded = fold(document, { ...thread, subflows, status: ExecutionStatus.running });
  return { ...folded, status: statusOf(thread, folded.currentStepID === RETURN) };
}

/**
 * The snapshot of what a thread has committed. `currentStepID` is the step that runs, or that the run failed
 * or was cancelled at; null when it has come to its end.
 */
export function recordedSnapshot(
  documents: Documents,
  thread: RecordedThread,
  known: Pick<WorkflowSnapshot, "elapsedMs" | "eventSeq"> & { failedStepID?: string | null },
): WorkflowSnapshot {
  const workflow = readWorkflow(documents);
  const state = stateOf(workflow, thread);
  const isOver = hasStopped(state);
  const paused = pauseOf(thread);
  const current =
    paused?.nodeID ?? known.failedStepID ?? currentOf(workflow.outline, state.position);
  return {
    ...valuesOf(state),
    status: statusOf(thread, isOver),
    currentStepID: isOver ? null : current,
    elapsedMs: known.elapsedMs,
    paused,
    eventSeq: known.eventSeq,
    version: documents.document.version,
  };
}

const hasStopped = ({ position, stopped }: RunState): boolean =>
  stopped !== null || hasEnded(position);

// A thread whose params were refused has ended before its first step.
function stateOf(workflow: Workflow, thread: RecordedThread): RunState {
  try {
    return foldSteps(workflow, thread);
  } catch (error) {
    if (thread.steps.length > 0) throw error;
    return newState(workflow, thread.threadId, {});
  }
}

const statuses: Readonly<Record<string, ExecutionStatus>> = {
  failed: "failed",
  corrupt: "failed",
  killed: "cancelled",
  waiting: "paused",
  paused: "paused",
};

// What can go on and is not driven now counts as running. Out of rounds, only the thread is completed.
function statusOf({ status, steps }: RecordedThread, isOver: boolean): ExecutionStatus {
  if (status !== "completed") return statuses[status] ?? "running";
  if (!isOver) return "failed";
  return steps.at(-1)?.meta.stop ? "stopped" : "completed";
}

function pauseOf({ status, steps }: RecordedThread): WorkflowSnapshot["paused"] {
  const last = steps.at(-1);
  if (status !== "waiting" || last?.role !== WAIT || last.meta.for !== "pause") return null;
  return { nodeID: String(last.meta.stepID), token: String(last.meta.token) };
}

/** The values that a step of a thread began with, and its path. */
export type StepValues = {
  /** How many of the thread's steps come before it. */
  steps: number;
  /** As the log names it: `parent/child` in a child's run. Null where no step is known. */
  stepID: string | null;
  path: PathPart[];
  /** The step that runs the workflow whose values these are; null for the thread's own. */
  within: string | null;
} & Pick<RunState, "params" | "variables" | "localVars">;

/**
 * What the run of the step with a number (from 1) began with, in the thread or in a child workflow. The
 * number behind the last is the step that comes next, `coming` where that is known. Null at the end.
 */
export function recordedValues(
  documents: Documents,
  thread: RecordedThread,
  number: number,
  coming: string | null = null,
): StepValues | null {
  const { before, at: ran } = stepRunAt(thread.steps, number);
  const workflow = readWorkflow(documents);
  const state = foldSteps(workflow, { ...thread, steps: thread.steps.slice(0, before) });
  if (!ran && hasStopped(state)) return null;
  const at =
    ran ?? comingStep(workflow, state, coming ?? currentOf(workflow.outline, state.position));
  const path = at?.path ?? [];
  const run = runAt({ workflow, state, path });
  const parents = path.filter((part) => "run" in part).map((part) => part.in);
  return {
    steps: before,
    stepID: at?.stepID ?? null,
    path: [...path],
    within: parents.length > 0 ? parents.join("/") : null,
    params: run.state.params,
    variables: run.state.variables,
    localVars: localsAt(run),
  };
}
