import { WAIT, WorkflowError } from "@uncaged/workflow";
import type { WorkflowSnapshot } from "../context/snapshot.ts";
import { ExecutionStatus } from "../document/constants.ts";
import type { Checkpoint } from "../state/checkpoint.ts";
import { currentOf, hasEnded } from "../state/position.ts";
import { newState, type RunState } from "../state/state.ts";
import { readWorkflow, type Workflow } from "../state/workflow.ts";
import { type Documents, documentsIn } from "./describe.ts";
import { runStatus } from "./status.ts";
import { fold, type FoldedThread, foldSteps } from "./thread.ts";

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
    throw new WorkflowError({
      code: "NO_STEP_WORKFLOW",
      kind: "failed",
      message: `the bundle ${hash} was made of no step workflow`,
      hint: "see a thread's steps: uncaged-workflow thread <id> --steps; go on from one: uncaged-workflow fork <id>",
    });
  }
  const { document, subflows } = found;
  if (document) return { document, subflows };
  throw new WorkflowError({
    code: "DOCUMENT_TOO_LONG",
    kind: "failed",
    message: `the step workflow of ${hash} is too long to stand in the bundle's descriptor`,
    hint: "512 Ki characters are the most; go on from its steps: uncaged-workflow fork <id> --at-step N",
  });
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
 * @param told What does not stand in the steps: how long it has run, and the `seq` of its last event.
 */
export function recordedSnapshot(
  { document, subflows }: Documents,
  thread: RecordedThread,
  told: Pick<WorkflowSnapshot, "elapsedMs" | "eventSeq">,
): WorkflowSnapshot {
  const workflow = readWorkflow(document);
  const state = stateOf(workflow, { ...thread, subflows, status: ExecutionStatus.running });
  const isOver = state.stopped !== null || hasEnded(state.position);
  const { params, variables, localVars, artifacts } = state;
  return {
    runID: thread.threadId,
    status: statusOf(thread, isOver),
    currentStepID: isOver ? null : currentOf(state.position),
    elapsedMs: told.elapsedMs,
    params,
    variables,
    localVars,
    artifacts: Object.keys(artifacts),
    paused: pauseOf(thread),
    eventSeq: told.eventSeq,
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
