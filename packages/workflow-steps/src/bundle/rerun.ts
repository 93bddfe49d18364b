import { INPUT, isWorkflowError } from "@uncaged/workflow";
import { failure } from "../document/document.ts";
import { isPlain, sameValue } from "../expression/value.ts";
import { checkCheckpoint, type Checkpoint } from "../state/checkpoint-form.ts";
import { comingStep, keptWith, stepRun, type StepRun, stepsBefore } from "../state/path.ts";
import { currentOf, isNext } from "../state/position.ts";
import { type PathPart, readWorkflow } from "../state/state.ts";
import type { Documents } from "./describe.ts";
import { fold, type FoldedThread, foldSteps, type RerunMeta } from "./thread.ts";

/**
 * What is asked of a rerun. `checkpoint` is whatever a caller sent; one with no more than a `threadId` and
 * `steps` stands for the state that these first steps make. Then the step may be given by its `path`.
 */
export type RerunRequest = {
  checkpoint: unknown;
  stepID?: string;
  path?: readonly PathPart[];
  overrides?: Record<string, unknown>;
};

type Begun = Pick<FoldedThread, "threadId" | "prompt" | "params" | "steps">;

/**
 * The `__input__` step that a rerun puts behind the steps that it keeps: the first `kept`, or those of the
 * list `steps`, by number from 0, where it is given.
 */
export type Rerun = {
  kept: number;
  steps?: number[];
  input: { content: string; meta: RerunMeta };
};

/** The `__input__` step with which a rerun begins. */
export function rerunInput({
  stepID,
  path,
  overrides = {},
  checkpoint,
}: Omit<RerunMeta, "for">): Rerun["input"] {
  const names = Object.keys(overrides).join(", ");
  const text = `again from ${stepID ?? "where it stood"}`;
  const held = checkpoint === undefined ? {} : { checkpoint };
  const at = { ...(stepID !== undefined && { stepID }), ...(path !== undefined && { path }) };
  return {
    content: names === "" ? text : `${text}, with another ${names}`,
    meta: { for: "rerun", ...at, overrides, ...held },
  };
}

/**
 * How to run again from a checkpoint. Of the thread that it is of, those steps are kept that come before
 * the last run of the chosen step, and those of the chains that ran concurrently with it; without a step,
 * those that the checkpoint is of. The checkpoint is put behind them only when it differs from what the
 * steps make: then its values win. Without a thread it is all there is.
 *
 * @throws WorkflowError `CHECKPOINT_INVALID`, `NO_SUCH_STEP`, `STEP_AMBIGUOUS`, `OVERRIDE_UNKNOWN`,
 * `PLACE_UNKNOWN`, `PARAMS_INVALID`, and whatever else keeps the run from beginning so.
 */
export function planRerun(
  documents: Documents,
  thread: Begun | null,
  request: RerunRequest,
): Rerun {
  const { checkpoint, stepID, overrides } = request;
  if (thread && isReference(checkpoint)) return planFrom(documents, thread, request);
  const again = thread && stepID !== undefined && rerunOfRun(documents, thread, stepID, request);
  if (again) return again;
  const steps = thread?.steps ?? [];
  const kept = thread ? keptBy(steps, checkpoint, stepID) : 0;
  const made = thread && foldOf(documents, { ...thread, steps: steps.slice(0, kept) });
  const plan =
    made && isSame(made, checkpoint, stepID === undefined)
      ? { kept, input: rerunInput({ stepID, overrides }) }
      : // What this version of the workflow can't read is not kept.
        { kept: made ? kept : 0, input: rerunInput({ stepID, overrides, checkpoint }) };
  // What is not sent is checked all the same.
  begin(documents, thread, [], rerunInput({ stepID, overrides, checkpoint }));
  begin(documents, thread, steps.slice(0, plan.kept), plan.input);
  return plan;
}

/** The rerun of a step's last run, at the path that the log has; null where this version has no such path. */
function rerunOfRun(
  documents: Documents,
  thread: Begun,
  stepID: string,
  { checkpoint, overrides }: RerunRequest,
): Rerun | null {
  const workflow = readWorkflow(documents.document);
  checkCheckpoint(workflow, checkpoint);
  const run = runAtCheckpoint(documents, thread, stepID, checkpoint);
  if (!run?.path) return null;
  const { path, before } = run;
  const numbers = keptWith(workflow.outline, thread.steps, run);
  const steps = numbers.map((index) => thread.steps[index] as Begun["steps"][number]);
  const made = foldOf(documents, { ...thread, steps: thread.steps.slice(0, before) });
  const values = made && isSame(made, checkpoint, false) ? {} : { checkpoint };
  const input = rerunInput({ stepID, path, overrides, ...values });
  try {
    begin(documents, thread, steps, input);
  } catch (error) {
    if (isWorkflowError(error) && error.code === "PLACE_UNKNOWN") return null;
    throw error;
  }
  const kept = numbers.length;
  return kept === before ? { kept, input } : { kept, steps: numbers, input };
}

/** The run of a step that a checkpoint comes to next, else the last one before it. */
function runAtCheckpoint(
  { document, subflows }: Documents,
  thread: Begun,
  stepID: string,
  checkpoint: unknown,
): StepRun | null {
  const steps = stepsOf(thread.steps, checkpoint);
  const workflow = readWorkflow(document);
  try {
    const state = foldSteps(workflow, { ...thread, subflows, steps });
    const { outline } = workflow;
    if (isNext(state.position, stepID) || currentOf(outline, state.position) === stepID) {
      const coming = comingStep(workflow, state, stepID);
      return coming && { before: steps.length, path: [...coming.path] };
    }
    return stepRun(steps, stepID);
  } catch {
    // What this version of the workflow can't read has no paths for it.
    return null;
  }
}

/** The first steps, of which a checkpoint is, without a question that what comes next would answer. */
function stepsOf(steps: Begun["steps"], checkpoint: unknown): Begun["steps"] {
  const count = isPlain(checkpoint) ? checkpoint.steps : undefined;
  const first = steps.slice(0, isCount(count) ? count : steps.length);
  return first.slice(0, stepsBefore(first, "") ?? first.length);
}

/** How to run again from the first steps of a thread. */
function planFrom(
  documents: Documents,
  thread: Begun,
  { checkpoint, stepID, path, overrides }: RerunRequest,
): Rerun {
  const { steps: kept } = checkpoint as { steps: number };
  if (kept > thread.steps.length) throw tooFew(kept, thread.steps.length);
  const input = rerunInput({ stepID, path, overrides });
  begin(documents, thread, thread.steps.slice(0, kept), input);
  return { kept, input };
}

/** Begins a rerun as its thread will: that throws for what keeps it from beginning. */
function begin(
  { document, subflows }: Documents,
  thread: Begun | null,
  before: FoldedThread["steps"],
  input: Rerun["input"],
): void {
  foldSteps(readWorkflow(document), {
    ...(thread ?? { threadId: "", prompt: "" }),
    subflows,
    steps: [...before, { role: INPUT, ...input }],
  });
}

const isCount = (value: unknown): value is number =>
  Number.isSafeInteger(value) && Number(value) >= 0;

const isReference = (checkpoint: unknown): boolean =>
  isPlain(checkpoint) &&
  isCount(checkpoint.steps) &&
  Object.keys(checkpoint).every((name) => name === "threadId" || name === "steps");

const tooFew = (kept: number, length: number) =>
  failure(
    "CHECKPOINT_INVALID",
    `the checkpoint can't be used: it is of ${kept} steps, and the thread has ${length}`,
    "take one that this thread made",
  );

function keptBy(
  steps: FoldedThread["steps"],
  checkpoint: unknown,
  stepID: string | undefined,
): number {
  if (stepID !== undefined) return stepsBefore(steps, stepID) ?? steps.length;
  return stepsOf(steps, checkpoint).length;
}

function foldOf({ document, subflows }: Documents, thread: FoldedThread): Checkpoint | null {
  try {
    return fold(document, { ...thread, subflows });
  } catch {
    return null;
  }
}

const values = [
  "params",
  "variables",
  "localVars",
  "artifacts",
  "completedSteps",
  "completedBranches",
  "loopProgress",
] as const;

function isSame(made: Checkpoint, given: unknown, placed: boolean): boolean {
  if (!isPlain(given)) return false;
  const names = placed ? [...values, "currentStepID" as const] : values;
  return names.every((name) => sameValue(made[name], given[name]));
}
