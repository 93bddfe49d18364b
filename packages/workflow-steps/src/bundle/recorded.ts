import { INPUT, isWorkflowError, WAIT } from "@uncaged/workflow";
import type { PathPart } from "@uncaged/workflow/interpreter";
import { valuesOf, type WorkflowSnapshot } from "../context/context.ts";
import { ExecutionStatus, RETURN } from "../document/document.ts";
import { isPlain, sameValue } from "../expression/value.ts";
import { checkCheckpoint, type Checkpoint, records } from "../state/checkpoint.ts";
import { localsAt, runAt } from "../state/fold.ts";
import { keptWith, stepRun, type StepRun, stepRunAt, withoutQuestion } from "../state/step-runs.ts";
import { comingStep, currentOf, hasEnded, isNext } from "../state/position.ts";
import {
  type Documents,
  newState,
  readWorkflow,
  type RunState,
  type Workflow,
} from "../state/state.ts";
import { documentsIn } from "./describe.ts";
import { fold, type FoldedThread, foldSteps, type RerunMeta } from "./thread.ts";
import { checkpointAhead, documentTooLong, notStepWorkflow } from "./errors.ts";

/** A recorded thread with its status. */
export type RecordedThread = Omit<FoldedThread, "status" | "subflows"> & { status: string };

/**
 * Returns the documents of a step workflow's bundle.
 *
 * @throws WorkflowError `NO_STEP_WORKFLOW`, `DOCUMENT_TOO_LONG` if the descriptor omits it.
 */
export function documentsOf(hash: string, descriptor: object | null): Documents {
  const { document, subflows } = (descriptor && documentsIn(descriptor)) ?? {};
  if (document && subflows) return { document, subflows };
  throw subflows ? documentTooLong(hash) : notStepWorkflow(hash);
}

/** Returns the checkpoint of a recorded thread: the state after its committed steps. */
export function recordedCheckpoint(
  { document, subflows }: Documents,
  thread: RecordedThread,
): Checkpoint {
  const folded = fold(document, { ...thread, subflows, status: ExecutionStatus.running });
  return { ...folded, status: statusOf(thread, folded.currentStepID === RETURN) };
}

/**
 * Returns the snapshot of a thread's committed state. `currentStepID` is the running step, or the step where the run
 * failed or was cancelled; null for a completed run.
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

// A thread with invalid params ended before its first step.
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

// A resumable thread without a worker counts as running. A thread that ended at its round limit is completed, but its
// unfinished run is failed.
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

/** The values and the path of a step's run at its start. */
export type StepValues = {
  /** Number of the thread's steps before this run. */
  steps: number;
  /** The id in the log: `parent/child` in a child workflow's run. Null if unknown. */
  stepID: string | null;
  path: PathPart[];
  /** The step that runs the workflow with these values; null for the thread's own workflow. */
  within: string | null;
} & Pick<RunState, "params" | "variables" | "localVars">;

/**
 * Returns the values at the start of the run that committed a step. `number` (from 1) identifies the step among the
 * thread's steps, which include the steps of child workflows. The number after the last step means the next step, with
 * the id `coming` if known. Null after the end of the run.
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

/**
 * A request for a rerun. A `checkpoint` with only `threadId` and `steps` means the state after that many steps; `path`
 * can then identify the step.
 */
export type RerunRequest = {
  checkpoint: unknown;
  stepID?: string;
  path?: readonly PathPart[];
  overrides?: Record<string, unknown>;
};

type Begun = Pick<FoldedThread, "threadId" | "prompt" | "params" | "steps">;

/** The kept steps of a rerun (the first `kept` steps, or a list of numbers from 0) and the step that follows them. */
export type Rerun = {
  kept: number;
  steps?: number[];
  input: { content: string; meta: RerunMeta };
};

/** Returns the `__input__` step that begins a rerun. */
export function rerunInput({
  stepID,
  path,
  overrides = {},
  checkpoint,
}: Omit<RerunMeta, "for">): Rerun["input"] {
  const names = Object.keys(overrides).join(", ");
  const text = `rerun from ${stepID ?? "the checkpoint"}`;
  return {
    content: names === "" ? text : `${text}, with other values of ${names}`,
    meta: {
      for: "rerun",
      ...(stepID !== undefined && { stepID }),
      ...(path !== undefined && { path }),
      overrides,
      ...(checkpoint !== undefined && { checkpoint }),
    },
  };
}

/**
 * Plans a rerun from a checkpoint. With `stepID`, keeps the thread's steps before that step's last run, and the steps
 * of concurrent chains. Without `stepID`, keeps the steps of the checkpoint. If the checkpoint differs from the state
 * after the kept steps, the rerun includes the checkpoint, whose values win.
 * @throws WorkflowError `CHECKPOINT_INVALID`, `NO_SUCH_STEP`, `STEP_AMBIGUOUS`, `OVERRIDE_UNKNOWN`, `PLACE_UNKNOWN`,
 * `PARAMS_INVALID`, and any other error at the start of the run.
 */
export function planRerun(
  documents: Documents,
  thread: Begun | null,
  request: RerunRequest,
): Rerun {
  const workflow = readWorkflow(documents);
  const { checkpoint, stepID, path, overrides } = request;
  if (!thread) return planned(workflow, null, [], { stepID, overrides, checkpoint });
  if (isReference(checkpoint)) {
    const [count, most] = [checkpoint.steps, thread.steps.length];
    if (count > most) throw checkpointAhead(count, most);
    return planned(workflow, thread, first(count), { stepID, path, overrides });
  }
  checkCheckpoint(workflow, checkpoint);
  const run = runFor(workflow, thread, request);
  const before = thread.steps.slice(0, run.before);
  const made = madeBy(documents, { ...thread, steps: before });
  const isMade = made !== null && isSame(made, checkpoint, stepID === undefined);
  const given = { stepID, overrides, ...(!isMade && { checkpoint }) };
  if (run.path) {
    try {
      const kept = keptWith(workflow.outline, thread.steps, run);
      return planned(workflow, thread, kept, { ...given, path: run.path });
    } catch (error) {
      // This version of the workflow does not have this path.
      if (!isWorkflowError(error) || error.code !== "PLACE_UNKNOWN") throw error;
    }
  }
  // Drop the steps that this version of the workflow can't read.
  return planned(workflow, thread, first(made ? run.before : 0), given);
}

/** Returns the plan after a trial start. The trial throws if no thread can begin with this plan. */
function planned(
  workflow: Workflow,
  thread: Begun | null,
  numbers: number[],
  request: Omit<RerunMeta, "for">,
): Rerun {
  const input = rerunInput(request);
  const { steps, ...begun } = thread ?? { threadId: "", prompt: "", steps: [] };
  const kept = numbers.map((number) => steps[number] as Begun["steps"][number]);
  foldSteps(workflow, { ...begun, steps: [...kept, { role: INPUT, ...input }] });
  const isPrefix = numbers.every((number, index) => number === index);
  return { kept: numbers.length, ...(!isPrefix && { steps: numbers }), input };
}

const first = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

// Return the step's next run after the checkpoint, otherwise its last run. The path is null if both are unknown.
function runFor(workflow: Workflow, thread: Begun, { checkpoint, stepID }: RerunRequest): StepRun {
  const count = isPlain(checkpoint) && isCount(checkpoint.steps) ? checkpoint.steps : Infinity;
  const all = thread.steps.slice(0, count);
  const before = withoutQuestion(all);
  if (stepID === undefined) return { before, path: null };
  const steps = all.slice(0, before);
  try {
    const state = foldSteps(workflow, { ...thread, steps });
    const current = currentOf(workflow.outline, state.position);
    const isComing = isNext(state.position, stepID) || current === stepID;
    const coming = isComing ? comingStep(workflow, state, stepID) : null;
    if (coming) return { before, path: [...coming.path] };
    const run = isComing ? null : stepRun(steps, stepID);
    if (run?.path) return run;
  } catch {
    // Without a state, only count the steps.
  }
  return { before: stepRun(thread.steps, stepID)?.before ?? before, path: null };
}

const isCount = (value: unknown): value is number =>
  Number.isSafeInteger(value) && Number(value) >= 0;

const isReference = (checkpoint: unknown): checkpoint is { steps: number } =>
  isPlain(checkpoint) &&
  isCount(checkpoint.steps) &&
  Object.keys(checkpoint).every((name) => name === "threadId" || name === "steps");

function madeBy({ document, subflows }: Documents, thread: Begun): Checkpoint | null {
  try {
    return fold(document, { ...thread, subflows });
  } catch {
    return null;
  }
}

function isSame(made: Checkpoint, given: unknown, isAtStep: boolean): boolean {
  if (!isPlain(given)) return false;
  const names = [...Object.keys(records), "completedSteps", ...(isAtStep ? ["currentStepID"] : [])];
  return names.every((name) => sameValue((made as Record<string, unknown>)[name], given[name]));
}
