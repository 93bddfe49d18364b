import { INPUT, WorkflowError } from "@uncaged/workflow";
import { isPlain, sameValue } from "../expression/value.ts";
import { stepsBefore } from "../state/path.ts";
import type { Checkpoint } from "../state/checkpoint-form.ts";
import { type PathPart, readWorkflow } from "../state/state.ts";
import type { Documents } from "./describe.ts";
import { fold, type FoldedThread, foldSteps, type RerunMeta } from "./thread.ts";

/**
 * What is asked of a rerun. `checkpoint` is whatever a caller sent; one with no more than a `threadId` and
 * `steps` stands for the state that these first steps make. Then the step may be told by its `path`.
 */
export type RerunRequest = {
  checkpoint: unknown;
  stepID?: string;
  path?: readonly PathPart[];
  overrides?: Record<string, unknown>;
};

type Begun = Pick<FoldedThread, "threadId" | "prompt" | "params" | "steps">;

/** How many steps of the thread a rerun keeps, and the `__input__` step that it puts behind them. */
export type Rerun = { kept: number; input: { content: string; meta: RerunMeta } };

/** The `__input__` step with which a rerun begins. */
export function rerunInput({
  stepID,
  path,
  overrides = {},
  checkpoint,
}: Omit<RerunMeta, "for">): Rerun["input"] {
  const names = Object.keys(overrides).join(", ");
  const said = `again from ${stepID ?? "where it stood"}`;
  const held = checkpoint === undefined ? {} : { checkpoint };
  const at = { ...(stepID !== undefined && { stepID }), ...(path !== undefined && { path }) };
  return {
    content: names === "" ? said : `${said}, with another ${names}`,
    meta: { for: "rerun", ...at, overrides, ...held },
  };
}

/**
 * How to run again from a checkpoint. Of the thread that it is of, those steps are kept that come before
 * the last run of the chosen step; without one, those that the checkpoint tells of. It is put behind them
 * only when it differs from what they make: then its values win. Without a thread it is all there is.
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

const tooFew = (kept: number, length: number): WorkflowError =>
  new WorkflowError({
    code: "CHECKPOINT_INVALID",
    kind: "failed",
    message: `the checkpoint can't be used: it is of ${kept} steps, and the thread has ${length}`,
    hint: "take one that this thread made",
  });

function keptBy(
  steps: FoldedThread["steps"],
  checkpoint: unknown,
  stepID: string | undefined,
): number {
  if (stepID !== undefined) return stepsBefore(steps, stepID) ?? steps.length;
  const told = isPlain(checkpoint) ? checkpoint.steps : undefined;
  const first = steps.slice(0, isCount(told) ? told : steps.length);
  // A question that nobody has answered would be answered by what comes next.
  return stepsBefore(first, "") ?? first.length;
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
