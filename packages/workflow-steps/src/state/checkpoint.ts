import { messageOf } from "../adapter/error.ts";
import { BREAK, ENTRY, type ExecutionStatus, RETURN } from "../document/document.ts";
import * as z from "zod/mini";
import { violationsOf } from "../document/form.ts";
import { isPlain } from "../expression/value.ts";
import { type Marks, marksAt, marksOf, positionFrom, resumeStepOf } from "./marks.ts";
import { comingStep } from "./position.ts";
import { giveAt } from "./fold.ts";
import { type Artifact, newState, type RunState, type Workflow, writable } from "./state.ts";
import { badCheckpoint } from "./errors.ts";

const checkpointType = "vl_workflow_checkpoint";

/**
 * A run's state as JSON, in version 2 of the documented format. A thread's checkpoint has the number of folded steps.
 */
export type Checkpoint = Marks & {
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
  eventSeq: number;
  version: string;
  createdAt: string;
  threadId?: string;
  steps?: number;
};

/** The start of a resumed run: a checkpoint, or an object with at least a step's id. */
export type Resumable = Partial<Omit<Checkpoint, "_type" | "_version">> & {
  _type?: string;
  _version?: number;
  currentStepID: string;
};

type CheckpointContext = {
  workflow: Workflow;
  status: ExecutionStatus;
  now: number;
};

/** Returns a state as a checkpoint, which is a deep copy. */
export function checkpointOf(state: RunState, context: CheckpointContext): Checkpoint {
  const { document, outline, registry } = context.workflow;
  const next = state.stopped ? RETURN : resumeStepOf(outline, state.position);
  return structuredClone({
    _type: checkpointType,
    _version: 2,
    workflowID: state.runID,
    currentStepID: next === BREAK ? RETURN : next,
    status: context.status,
    params: state.params,
    paramTypes: registry.paramTypes(),
    variables: state.variables,
    varTypes: registry.varTypes(),
    localVars: state.localVars,
    artifacts: state.artifacts,
    completedSteps: [...state.completedSteps],
    ...marksOf(outline, state.position),
    eventSeq: state.eventSeq,
    version: document.version,
    createdAt: new Date(context.now).toISOString(),
  });
}

/**
 * Returns the state of a checkpoint. `runID` is the run id if the checkpoint does not have one. With `stepID` the run
 * continues from that step, without the progress of constructs that run again.
 * @throws WorkflowError `CHECKPOINT_INVALID`, `PARAMS_INVALID`, `NO_SUCH_STEP`, `STEP_AMBIGUOUS`, `OVERRIDE_UNKNOWN`,
 *   `VALUE_NOT_JSON`.
 */
export function restoredState(
  workflow: Workflow,
  given: unknown,
  runID: string,
  { stepID, overrides = {} }: { stepID?: string; overrides?: Record<string, unknown> },
): RunState {
  const checkpoint = checkCheckpoint(workflow, given);
  const { outline } = workflow;
  const { completedBranches = {}, loopProgress = {}, completedSteps = [] } = checkpoint;
  const { brokenBranches } = checkpoint;
  const at = stepID ?? checkpoint.currentStepID;
  const marks = marksAt(outline, at, completedSteps, stepID !== undefined, {
    completedBranches,
    brokenBranches,
    loopProgress,
  });
  const begun = newState(workflow, checkpoint.workflowID ?? runID, {});
  const state = withValues({ ...begun, position: positionFrom(outline, at, marks) }, checkpoint);
  state.completedSteps = new Set(completedSteps);
  const path = comingStep(workflow, state, at)?.path ?? [];
  giveAt({ workflow, state, path }, overrides);
  return state;
}

/** Returns a state with a checkpoint's values and the state's own position. */
export function withValues(state: RunState, checkpoint: Resumable): RunState {
  const { params, variables, localVars, artifacts, eventSeq = 0 } = checkpoint;
  return {
    ...state,
    params: { ...state.params, ...params },
    variables: { ...state.variables, ...variables },
    localVars: { ...localVars },
    artifacts: { ...state.artifacts, ...artifacts },
    eventSeq: Math.max(state.eventSeq, eventSeq),
  };
}

const aText = z.string("a string");
const object = z.record(z.string(), z.unknown(), "an object");
const names = z.array(aText, "an array");
const notNegative = "a whole number from 0";
const count = z.int(notNegative).check(z.minimum(0, notNegative));
const version = "2, the newest known version, or 1";
const runID = "the id of a run";

export const records = {
  params: z.optional(object),
  variables: z.optional(object),
  localVars: z.optional(object),
  artifacts: z.optional(object),
  completedBranches: z.optional(z.record(z.string(), names, "an object")),
  brokenBranches: z.optional(z.record(z.string(), names, "an object")),
  loopProgress: z.optional(z.record(z.string(), count, "an object")),
};

/** The form of a resumable object. Keeps unknown keys, which belong to other programs. */
const resumable = z.looseObject({
  _type: z.optional(z.literal(checkpointType, JSON.stringify(checkpointType))),
  _version: z.optional(z.number(version).check(z.maximum(2, version))),
  // The id also names a folder.
  workflowID: z.optional(z.string(runID).check(z.regex(/^\w[\w.:-]*$/, runID))),
  currentStepID: aText,
  ...records,
  completedSteps: z.optional(names),
  eventSeq: z.optional(count),
});
/** The form of a checkpoint that has a `_type` and must be complete. */
const whole = z.extend(resumable, { params: object, variables: object });

/** Returns a copy of a checkpoint that fits the workflow. @throws WorkflowError `CHECKPOINT_INVALID` */
export function checkCheckpoint(workflow: Workflow, given: unknown): Resumable {
  if (!isPlain(given)) throw badCheckpoint(["a checkpoint must be an object"]);
  const form = given._type === undefined ? resumable : whole;
  refuse([...violationsOf(form, given, []).map(({ text }) => text), ...forbiddenKeys(given)]);
  const copy = Object.entries(given).map(([name, part]): [string, unknown] => [
    name,
    Object.hasOwn(records, name) && isPlain(part) ? copied(part) : part,
  ]);
  const checkpoint = Object.fromEntries(copy) as Resumable;
  refuse(ofWorkflow(workflow, checkpoint));
  return { ...checkpoint, params: workflow.registry.someParams(checkpoint.params) };
}

// `__proto__` would replace a prototype. Other inherited names are harmless, because only own keys are read.
function forbiddenKeys(value: unknown, depth = 0): string[] {
  if (typeof value !== "object" || value === null || depth > 1000) return [];
  if (Object.hasOwn(value, "__proto__")) return ["it contains the key __proto__"];
  const parts: unknown[] = Object.entries(value).flatMap(([name, part]) =>
    depth > 0 || Object.hasOwn(records, name) ? [part] : [],
  );
  return parts.flatMap((part) => forbiddenKeys(part, depth + 1)).slice(0, 1);
}

// A checkpoint does not name its workflow. Unknown steps and names show that it belongs to another workflow.
function ofWorkflow({ outline, registry }: Workflow, checkpoint: Resumable): string[] {
  const { completedSteps = [], completedBranches = {}, loopProgress = {} } = checkpoint;
  const constructs = [...Object.keys(completedBranches), ...Object.keys(loopProgress)];
  const current = checkpoint.currentStepID === RETURN ? ENTRY : checkpoint.currentStepID;
  const ids = new Set([current, ...completedSteps, ...constructs]);
  const strangers = [...ids].filter((id) => id !== ENTRY && !outline.steps.has(id));
  const undeclared = Object.keys(checkpoint.variables ?? {}).filter(
    (name) => !registry.vars.some((one) => one.name === name),
  );
  return [
    ...strangers.map((id) => `no step ${JSON.stringify(id)} found in the workflow`),
    ...undeclared.map((name) => `no variable ${JSON.stringify(name)} found in the workflow`),
  ];
}

function copied(part: Record<string, unknown>): Record<string, unknown> {
  try {
    const entries = Object.entries(part).map(([key, value]) => [key, writable(value, key)]);
    return Object.fromEntries(entries) as Record<string, unknown>;
  } catch (error) {
    throw badCheckpoint([messageOf(error)]);
  }
}

function refuse(problems: string[]): void {
  if (problems.length > 0) throw badCheckpoint(problems);
}
