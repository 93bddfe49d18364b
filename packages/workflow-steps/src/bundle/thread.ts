import { INPUT, type RoleOutput, type ThreadInput, WAIT } from "@uncaged/workflow";
import { type PathPart, roundedIn } from "@uncaged/workflow/interpreter";
import type { PauseRequest } from "../context/run.ts";
import type { ExecutionStatus } from "../document/document.ts";
import type { WorkflowDocument } from "../document/format.ts";
import { isPlain } from "../expression/value.ts";
import type { Registry } from "../document/registry.ts";
import {
  checkCheckpoint,
  type Checkpoint,
  checkpointOf,
  restoredState,
  withValues,
} from "../state/checkpoint.ts";
import { beginAt, Fold, giveAt } from "../state/fold.ts";
import { marksOf } from "../state/marks.ts";
import { comingStep, currentOf, isNext } from "../state/position.ts";
import {
  type Answered,
  type Commit,
  newState,
  readWorkflow,
  type RunState,
  type StepAt,
  type Workflow,
} from "../state/state.ts";
import { foreignStep, roundedParam } from "./errors.ts";

/** The input and the committed steps of a step workflow's thread. */
export type FoldedThread = ThreadInput & {
  threadId: string;
  /** Documents of child workflows, by the path that a step names. */
  subflows?: Readonly<Record<string, WorkflowDocument>>;
  status?: ExecutionStatus;
};

/** Folds the steps of a thread to its checkpoint. @throws WorkflowError `NOT_STEPS`, `PARAMS_INVALID` */
export function fold(document: WorkflowDocument, thread: FoldedThread): Checkpoint {
  const { threadId, steps, status = "running", subflows = {} } = thread;
  const workflow = readWorkflow({ document, subflows });
  const now = steps.at(-1)?.timestamp ?? Date.now();
  const checkpoint = checkpointOf(foldSteps(workflow, thread), { workflow, status, now });
  return { ...checkpoint, threadId, steps: steps.length };
}

/**
 * Folds a thread's steps to its state, in time linear in the size of the steps.
 * @throws WorkflowError `NOT_STEPS`
 */
export function foldSteps(
  workflow: Workflow,
  thread: ThreadInput & { threadId: string },
): RunState {
  const { threadId, steps } = thread;
  const [first] = steps;
  // A checkpoint replaces the steps before it and the thread's input.
  const isAnew = first && isRerun(first) && first.meta.checkpoint !== undefined;
  const params = isAnew ? {} : paramsOf(workflow.registry, thread);
  let folded = new Fold(workflow, newState(workflow, threadId, params));
  let asked: StepAt | null = null;
  for (const [index, step] of steps.entries()) {
    const { role, meta } = step;
    if (role === WAIT && meta.for === "pause") {
      asked = { stepID: String(meta.stepID), path: (meta.path ?? []) as PathPart[] };
    } else if (isRerun(step)) {
      folded = new Fold(workflow, rerun(workflow, folded.state, meta as RerunMeta));
    } else if (role === INPUT) {
      if (asked) folded.answer(asked, answerIn(step));
    } else if (isCommit(meta)) {
      folded.apply(role, meta);
    } else {
      throw foreignStep(index + 1, role);
    }
  }
  return folded.state;
}

const isRerun = ({ role, meta }: RoleOutput): boolean => role === INPUT && meta.for === "rerun";

/** Returns whether a step workflow committed the step with this meta. */
export const isCommit = (meta: Record<string, unknown>): meta is Commit =>
  Array.isArray(meta.path) && Array.isArray(meta.variables) && typeof meta.next === "string";

/** Returns the answer to a Pause in an `__input__` step. */
export function answerIn({ content, meta }: RoleOutput): Answered {
  const given = ["payload", "value"].find((name) => Object.hasOwn(meta, name));
  const { requestId, timedOut } = meta;
  return {
    payload: given === undefined ? content : meta[given],
    ...(typeof requestId === "string" && { requestId }),
    timedOut: timedOut === true,
  };
}

function rerun(workflow: Workflow, state: RunState, meta: RerunMeta): RunState {
  const { stepID, path, overrides = {}, checkpoint } = meta;
  const { outline } = workflow;
  if (stepID !== undefined && path !== undefined) {
    const given = checkpoint !== undefined && checkCheckpoint(workflow, checkpoint);
    const begun = given ? withValues(state, given) : state;
    beginAt({ workflow, state: begun }, { stepID, path }, overrides);
    return { ...begun, stopped: null };
  }
  if (checkpoint !== undefined || (stepID !== undefined && !isNext(state.position, stepID))) {
    const completedSteps = [...state.completedSteps];
    const made = {
      ...state,
      completedSteps,
      ...marksOf(outline, state.position),
      currentStepID: stepID,
    };
    const { runID } = state;
    const from = checkpoint ?? made;
    return { ...restoredState(workflow, from, runID, { stepID, overrides }), runID };
  }
  const at = stepID ?? currentOf(outline, state.position);
  giveAt({ workflow, state, path: comingStep(workflow, state, at)?.path ?? [] }, overrides);
  return { ...state, stopped: null };
}

/**
 * Returns the given params, otherwise the prompt parsed as JSON, otherwise the prompt as `prompt` or as the only
 * required string.
 */
function paramsOf(
  registry: Registry,
  { prompt, params }: Pick<ThreadInput, "prompt" | "params">,
): Record<string, unknown> {
  if (params !== undefined) return registry.startParams(params);
  return registry.startParams(objectIn(prompt) ?? textParam(registry, prompt));
}

function objectIn(prompt: string): Record<string, unknown> | null {
  if (!prompt.trimStart().startsWith("{")) return null;
  let value: unknown;
  try {
    value = JSON.parse(prompt);
  } catch {
    return null;
  }
  const rounded = roundedIn(prompt);
  if (!rounded) return isPlain(value) ? value : null;
  throw roundedParam(rounded.text);
}

function textParam({ params }: Registry, prompt: string): Record<string, unknown> {
  if (prompt === "") return {};
  const required = params.filter((param) => !("default" in param) && param.type === "STRING");
  const named = params.find(({ name }) => name === "prompt");
  const filled = named ?? (required.length === 1 ? required[0] : undefined);
  return filled ? { [filled.name]: prompt } : {};
}

/**
 * Meta of the `__input__` step that begins a rerun. Values of `checkpoint` replace the state after the earlier steps.
 * Without `stepID` the run continues at the checkpoint's position. With `path` all other chains keep their positions.
 */
export type RerunMeta = {
  for: "rerun";
  stepID?: string;
  path?: readonly PathPart[];
  overrides?: Record<string, unknown>;
  checkpoint?: unknown;
};

export const pauseOutput = (wait: PauseRequest): RoleOutput => ({
  role: WAIT,
  content: wait.reason ?? `${wait.stepID} waits for an answer`,
  meta: { for: "pause", ...wait },
});

/** Returns a commit as a step of the thread: `LLM_Analyze: $plan set (1.2 KB), 12.3 s`. */
export const commitOutput = (role: string, commit: Commit): RoleOutput => ({
  role,
  content: `${role}: ${commit.phase === "mark" ? endOf(commit) : summaryOf(commit)}`,
  meta: commit,
});

function summaryOf({ artifacts, durationMs, phase, selected, variables }: Commit): string {
  const names = [...new Set(variables.map(({ path }) => String(path[0])))];
  const size = variables.reduce((sum, { value }) => sum + sizeOf(value), 0);
  const parts = [
    names.length > 0 && `${listed(names)} set (${bytes(size)})`,
    artifacts.length > 0 && `${listed(artifacts.map(({ path }) => path))} written`,
    selected && `chose ${selected}`,
    selected === null && "no case was true",
    phase === "body" && "begun",
    `${(durationMs / 1000).toFixed(1)} s`,
  ];
  return parts.filter(Boolean).join(", ");
}

// Describe the end of a chain whose last step was skipped.
function endOf({ path }: Commit): string {
  const last = path.at(-1);
  if (!last || !("child" in last)) return "done";
  return last.iteration === undefined ? `${last.child} done` : `iteration ${last.iteration} done`;
}

const listed = (names: string[]): string =>
  names.length > 3
    ? `${names.slice(0, 3).join(", ")} and ${names.length - 3} more`
    : names.join(", ");

const sizeOf = (value: unknown): number =>
  typeof value === "string" ? value.length : (JSON.stringify(value)?.length ?? 0);

const bytes = (size: number): string =>
  size < 1000 ? `${size} B` : `${(size / 1000).toFixed(1)} KB`;
