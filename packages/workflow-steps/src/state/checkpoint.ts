import { WorkflowError } from "@uncaged/workflow";
import { messageOf } from "../adapter/error.ts";
import { BREAK, ENTRY, type ExecutionStatus, LoopMode, RETURN } from "../document/document.ts";
import { isPlain } from "../expression/value.ts";
import type { Enclosure, Outline } from "../outline/outline.ts";
import { giveAt } from "./fold.ts";
import { comingPlace } from "./path.ts";
import { dropMarks, positionBefore } from "./position.ts";
import { type Artifact, newState, type RunState, type Workflow, writable } from "./state.ts";

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

/** How far constructs are, as a checkpoint tells it: the finished children, the finished iterations. */
export type Marks = {
  completedBranches: Record<string, string[]>;
  loopProgress: Record<string, number>;
};

/** Changes of marks as a commit records them; `null` clears one. */
export type MarkChanges = {
  completedBranches: Record<string, string[] | null>;
  loopProgress: Record<string, number | null>;
};

/** No change. */
export const noChanges = (): MarkChanges => ({ completedBranches: {}, loopProgress: {} });

/**
 * The marks that count for a run that goes on from a state. A construct that is come to again, for the
 * steps lead back to it, still has those of the last time: they are left out.
 */
export function currentMarks(outline: Outline, state: RunState): Marks {
  const { carried, completedBranches, loopProgress, position } = state;
  const marks = { completedBranches, loopProgress };
  if (isEmpty(marks) || outline.cycles.length === 0) return marks;
  const again = position.inside ? behind : reachable;
  const others = again(outline, position.next);
  return kept(marks, (id) => carried.has(id) || !others.has(id));
}

const reachable = (outline: Outline, id: string): ReadonlySet<string> => outline.reachableFrom(id);

/**
 * The marks of a checkpoint that count when the run goes on at `id`. A caller may have chosen an earlier
 * step than the checkpoint's own: what was completed and comes behind that step runs again.
 */
export function marksAt(
  outline: Outline,
  id: string,
  completedSteps: readonly string[],
  marks: Marks,
): Marks {
  if (isEmpty(marks)) return marks;
  const [way = []] = outline.enclosuresOf(id);
  const around = way.map((enclosure) => enclosure.in).filter((one) => one !== ENTRY);
  const again = new Set([id, ...around].flatMap((one) => [...behind(outline, one)]));
  // When the outermost construct is completed the chosen step is not where the run stood in it.
  const isOver = around[0] !== undefined && completedSteps.includes(around[0]);
  for (const one of around) {
    if (isOver) again.add(one);
    else again.delete(one);
  }
  again.delete(id);
  const completed = new Set(completedSteps);
  return kept(marks, (one) => !(again.has(one) && completed.has(one)));
}

const isEmpty = ({ completedBranches, loopProgress }: Marks): boolean =>
  Object.keys(completedBranches).length + Object.keys(loopProgress).length === 0;

function kept({ completedBranches, loopProgress }: Marks, isKept: (id: string) => boolean): Marks {
  const of = <T>(marks: Record<string, T>): Record<string, T> =>
    Object.fromEntries(Object.entries(marks).filter(([id]) => isKept(id)));
  return { completedBranches: of(completedBranches), loopProgress: of(loopProgress) };
}

/** What can run after a construct, without itself and what lies inside of it. */
function behind(outline: Outline, construct: string): Set<string> {
  const again = new Set<string>();
  const within = new Set([construct]);
  for (const { kind, to } of outline.referencesOf(construct)) {
    const reached = outline.reachableFrom(to);
    // A case that leads back to its Branch is no part of it.
    const isInside = kind === "child" || (kind === "case" && !reached.has(construct));
    for (const id of reached) (isInside ? within : again).add(id);
  }
  for (const id of within) again.delete(id);
  return again;
}

/** What a run can be taken up from: a checkpoint, or an object with as little as the step's id. */
export type Resumable = Partial<Omit<Checkpoint, "_type" | "_version">> & {
  _type?: string;
  _version?: number;
  currentStepID: string;
};

/**
 * The state that a checkpoint tells of. With `stepID` the run goes on from that step instead, and what
 * is done of the constructs that run again does not count. `runIDFor` says the run's id.
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
  const told = { completedBranches, loopProgress };
  const at = stepID ?? checkpoint.currentStepID;
  const left = stepID === undefined ? told : dropMarks(outline, stepID, told);
  const marks = marksAt(outline, at, checkpoint.completedSteps ?? [], left);
  const state: RunState = {
    ...newState(workflow, runIDFor(checkpoint.workflowID), checkpoint.params ?? {}),
    localVars: { ...checkpoint.localVars },
    artifacts: { ...checkpoint.artifacts },
    completedSteps: new Set(checkpoint.completedSteps),
    ...marks,
    position: positionBefore(outline, at, marks),
    carried: carriedBy(outline, marks),
    eventSeq: checkpoint.eventSeq ?? 0,
  };
  Object.assign(state.variables, checkpoint.variables);
  giveAt(workflow, state, comingPlace(workflow, state, at)?.path ?? [], overrides);
  return state;
}

// Iterations side by side share the marks of what lies in them: these tell nothing of any one.
function carriedBy({ enclosuresOf, steps }: Outline, marks: Marks): Set<string> {
  const isParallel = (part: Enclosure): boolean =>
    part.kind === "loop" && steps.get(part.in)?.mode === LoopMode.parallel;
  const ids = [...Object.keys(marks.completedBranches), ...Object.keys(marks.loopProgress)];
  return new Set(ids.filter((id) => !enclosuresOf(id).some((way) => way.some(isParallel))));
}

const records = [
  "params",
  "variables",
  "localVars",
  "artifacts",
  "completedBranches",
  "loopProgress",
] as const;
const forbidden = ["__proto__", "constructor", "prototype"];
const newest = 2;
// It is the name of a folder too.
const idForm = /^\w[\w.:-]*$/;

/**
 * A checkpoint that fits the workflow, as a copy.
 *
 * @throws WorkflowError `CHECKPOINT_INVALID`, with all that is wrong in `details`.
 */
export function checkCheckpoint(workflow: Workflow, given: unknown): Resumable {
  if (!isPlain(given)) throw invalid(["a checkpoint must be an object"]);
  const problems = [...ofForm(given), ...ofParts(given)];
  if (problems.length > 0) throw invalid(problems);
  const checkpoint = copied(given);
  const strange = ofWorkflow(workflow, checkpoint);
  if (strange.length > 0) throw invalid(strange);
  return { ...checkpoint, params: workflow.registry.someParams(checkpoint.params) };
}

function ofForm(given: Record<string, unknown>): string[] {
  const { _type, _version, currentStepID, workflowID } = given;
  const problems: string[] = [];
  if (Object.hasOwn(given, "__proto__")) problems.push("it has the key __proto__");
  if (_type !== undefined && _type !== checkpointType) {
    problems.push(`its _type is ${JSON.stringify(_type)}, not "${checkpointType}"`);
  }
  if (_version !== undefined && !(typeof _version === "number" && _version <= newest)) {
    problems.push(`its _version is ${JSON.stringify(_version)}; ${newest} is the newest known`);
  }
  if (typeof currentStepID !== "string") problems.push("it has no currentStepID");
  if (workflowID !== undefined && !(typeof workflowID === "string" && idForm.test(workflowID))) {
    problems.push(`its workflowID ${JSON.stringify(workflowID)} is no id of a run`);
  }
  if (_type !== undefined) {
    const missing = ["params", "variables"].filter((name) => given[name] === undefined);
    problems.push(...missing.map((name) => `it has no ${name}`));
  }
  return problems;
}

function ofParts(given: Record<string, unknown>): string[] {
  return records
    .flatMap((name) => {
      const part = given[name];
      if (part === undefined) return [];
      if (!isPlain(part)) return [`its ${name} are no object`];
      const bad = Object.keys(part).find((key) => forbidden.includes(key));
      if (bad !== undefined) return [`its ${name} have the key ${bad}`];
      if (hasProto(part)) return [`its ${name} hold the key __proto__`];
      if (name === "completedBranches" && !Object.values(part).every(isListOfTexts)) {
        return ["its completedBranches are not lists of step ids"];
      }
      if (name === "loopProgress" && !Object.values(part).every(isCount)) {
        return ["its loopProgress is not made of whole numbers"];
      }
      return [];
    })
    .concat(
      given.completedSteps === undefined || isListOfTexts(given.completedSteps)
        ? []
        : ["its completedSteps are no list of step ids"],
      given.eventSeq === undefined || isCount(given.eventSeq) ? [] : ["its eventSeq is no number"],
    );
}

// A checkpoint does not name its workflow: it is another's when it knows what this one does not.
function ofWorkflow({ outline, registry }: Workflow, checkpoint: Resumable): string[] {
  const known = (id: string): boolean => outline.steps.has(id) || id === ENTRY;
  const ids = [
    ...(checkpoint.currentStepID === RETURN ? [] : [checkpoint.currentStepID]),
    ...(checkpoint.completedSteps ?? []),
    ...Object.keys(checkpoint.completedBranches ?? {}),
    ...Object.keys(checkpoint.loopProgress ?? {}),
  ];
  const strangers = [...new Set(ids.filter((id) => !known(id)))];
  const variables = Object.keys(checkpoint.variables ?? {});
  const undeclared = variables.filter((name) => !registry.vars.some((one) => one.name === name));
  return [
    ...strangers.map((id) => `the workflow has no step ${JSON.stringify(id)}`),
    ...undeclared.map((name) => `the workflow declares no variable ${JSON.stringify(name)}`),
  ];
}

function copied(given: Record<string, unknown>): Resumable {
  const parts = records.flatMap((name): [string, unknown][] => {
    const part = given[name];
    if (!isPlain(part)) return [];
    const entries = Object.entries(part).map(([key, value]) => [key, copiedValue(value, key)]);
    return [[name, Object.fromEntries(entries)]];
  });
  return { ...(given as Resumable), ...Object.fromEntries(parts) };
}

function copiedValue(value: unknown, name: string): unknown {
  try {
    return writable(value, name);
  } catch (error) {
    throw invalid([messageOf(error)]);
  }
}

function hasProto(value: unknown, depth = 0): boolean {
  if (typeof value !== "object" || value === null || depth > 1000) return false;
  if (Object.hasOwn(value, "__proto__")) return true;
  return Object.values(value).some((part) => hasProto(part, depth + 1));
}

const isListOfTexts = (value: unknown): boolean =>
  Array.isArray(value) && value.every((item) => typeof item === "string");

const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && Number(value) >= 0;

function invalid(problems: string[]): WorkflowError {
  const more = problems.length > 1 ? ` (and ${problems.length - 1} more)` : "";
  return new WorkflowError({
    code: "CHECKPOINT_INVALID",
    kind: "failed",
    message: `the checkpoint can't be used: ${problems[0]}${more}`,
    hint: "take one that this workflow made, whole",
    ...(problems.length > 1 && { details: problems }),
  });
}
