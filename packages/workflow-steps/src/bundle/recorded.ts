import { WAIT } from "@uncaged/workflow";
import type { WorkflowSnapshot } from "../context/context.ts";
import { ExecutionStatus, failure } from "../document/document.ts";
import type { Checkpoint } from "../state/checkpoint-form.ts";
import { runAt } from "../state/fold.ts";
import { comingStep, localsAt, stepRunAt } from "../state/path.ts";
import { currentOf, hasEnded } from "../state/position.ts";
import {
  newState,
  type PathPart,
  readWorkflow,
  type RunState,
  type Workflow,
} from "../state/state.ts";
import { type Documents, documentsIn } from "./describe.ts";
import { finder, fold, type FoldedThread, foldSteps } from "./thread.ts";

/** A thread as it is recorded; `status` is the thread's own. */
export type RecordedThread = Omit<FoldedThread, "status" | "subflows"> & { status: string };

/**
 * The documents of the step workflow that the bundle with this hash was made of.
 *
 * @throws WorkflowError `NO_STEP_WORKFLOW` when it was made of none, `DOCUMENT_TOO_LONG` when its
 * descriptor could not hold the document.
 */
export function documentsOf(hash: string, descriptor: object | null): Documents {
  const found = descriptor && documentsIn(descriptor);
  if (!found) {
    throw failure(
      "NO_STEP_WORKFLOW",
      `the bundle ${hash} was made of no step workflow`,
      "see a thread's steps: uncaged-workflow thread <id> --steps; go on from one: uncaged-workflow fork <id>",
    );
  }
  const { document, subflows } = found;
  if (document) return { document, subflows };
  throw failure(
    "DOCUMENT_TOO_LONG",
    `the step workflow of ${hash} is too long to stand in the bundle's descriptor`,
    "512 Ki characters are the most; go on from its steps: uncaged-workflow fork <id> --at-step N",
  );
}

/** The checkpoint of a recorded thread: the state that its committed steps make. */
export function recordedCheckpoint(
  { document, subflows }: Documents,
  thread: RecordedThread,
): Checkpoint {
  const folded = fold(document, { ...thread, subflows, status: ExecutionStatus.running });
  const { currentStepID } = folded;
  return { ...folded, status: statusOf(thread, currentStepID === "RETURN") };
}

/**
 * The snapshot of a recorded thread: of what is committed. `currentStepID` is the step that runs, or that
 * the run failed or was cancelled at; null when it has come to its end.
 *
 * @param known What is not recorded in the steps: how long it has run, the `seq` of its last event, and
 * the step that failed.
 */
export function recordedSnapshot(
  { document, subflows }: Documents,
  thread: RecordedThread,
  known: Pick<WorkflowSnapshot, "elapsedMs" | "eventSeq"> & { failedStepID?: string | null },
): WorkflowSnapshot {
  const workflow = readWorkflow(document);
  const state = stateOf(workflow, { ...thread, subflows, status: ExecutionStatus.running });
  const isOver = state.stopped !== null || hasEnded(state.position);
  const { params, variables, localVars, artifacts } = state;
  const paused = pauseOf(thread);
  const current =
    paused?.nodeID ?? known.failedStepID ?? currentOf(workflow.outline, state.position);
  return {
    runID: thread.threadId,
    status: statusOf(thread, isOver),
    currentStepID: isOver ? null : current,
    elapsedMs: known.elapsedMs,
    params,
    variables,
    localVars,
    artifacts: Object.keys(artifacts),
    paused,
    eventSeq: known.eventSeq,
    version: document.version,
  };
}

// A thread whose params were refused has ended before its first step.
function stateOf(workflow: Workflow, thread: FoldedThread): RunState {
  if (thread.steps.length > 0) return foldSteps(workflow, thread);
  try {
    return foldSteps(workflow, thread);
  } catch {
    return newState(workflow, thread.threadId, {});
  }
}

// Out of rounds, a thread is completed and its run is not.
function statusOf({ status, steps }: RecordedThread, isOver: boolean): ExecutionStatus {
  const run = runStatus(status, steps);
  return run === ExecutionStatus.completed && !isOver ? ExecutionStatus.failed : run;
}

function pauseOf({ status, steps }: RecordedThread): WorkflowSnapshot["paused"] {
  const last = steps.at(-1);
  if (status !== "waiting" || last?.role !== WAIT || last.meta.for !== "pause") return null;
  return { nodeID: String(last.meta.stepID), token: String(last.meta.token) };
}

/**
 * The status of a run, by that of its thread: a thread that waits is a paused run, and one that was
 * completed by a Stop is a stopped run. What can go on and is not driven now counts as running.
 */
function runStatus(
  status: string,
  steps: readonly { meta: Record<string, unknown> }[],
): ExecutionStatus {
  switch (status) {
    case "completed":
      return steps.at(-1)?.meta.stop ? "stopped" : "completed";
    case "failed":
    case "corrupt":
      return "failed";
    case "killed":
      return "cancelled";
    case "waiting":
    case "paused":
      return "paused";
    default:
      return "running";
  }
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
  params: Record<string, unknown>;
  variables: Record<string, unknown>;
  localVars: Record<string, unknown>;
};

/**
 * What the run of a step began with that the step with a number (from 1) belongs to: the values of the
 * thread, or of the child workflow that it is a step of. The number behind the last one is that of the
 * step which comes next; `coming` is its id, where it is known. Null when nothing comes next.
 */
export function recordedValues(
  { document, subflows }: Documents,
  thread: RecordedThread,
  number: number,
  coming: string | null = null,
): StepValues | null {
  const { before, at: ran } = stepRunAt(thread.steps, number);
  const workflow = readWorkflow(document);
  const steps = thread.steps.slice(0, before);
  const state = foldSteps(workflow, {
    ...thread,
    subflows,
    steps,
    status: ExecutionStatus.running,
  });
  if (!ran && (state.stopped !== null || hasEnded(state.position))) return null;
  const at =
    ran ?? comingStep(workflow, state, coming ?? currentOf(workflow.outline, state.position));
  const path = at?.path ?? [];
  const run = runAt({ workflow, state, path }, finder(subflows));
  const parents = path.filter((part) => "run" in part).map((part) => part.in);
  return {
    steps: before,
    stepID: at?.stepID ?? null,
    path: [...path],
    within: parents.length > 0 ? parents.join("/") : null,
    params: run.state.params,
    variables: run.state.variables,
    localVars: localsAt(run.workflow, run.state, run.path),
  };
}
