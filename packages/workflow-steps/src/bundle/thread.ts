import { INPUT, type RoleOutput, type ThreadInput, WAIT } from "@uncaged/workflow";
import type { PauseRequest } from "../context/run.ts";
import { type ExecutionStatus, failure } from "../document/document.ts";
import type { WorkflowDocument } from "../document/format.ts";
import { isPlain } from "../expression/value.ts";
import type { Registry } from "../registry/registry.ts";
import type { Checkpoint, Resumable } from "../state/checkpoint-form.ts";
import { checkpointOf, restoredState, withValues } from "../state/checkpoint.ts";
import { beginAt, type FindWorkflow, Fold, giveAt } from "../state/fold.ts";
import { marksOf } from "../state/marks.ts";
import { comingStep } from "../state/path.ts";
import { currentOf, isNext } from "../state/position.ts";
import {
  type Commit,
  newState,
  type PathPart,
  readWorkflow,
  type RunState,
  type Workflow,
} from "../state/state.ts";

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
  let folded = new Fold(workflow, newState(workflow, threadId, params), find);
  let asked: { stepID: string; path: PathPart[] } | null = null;
  for (const [index, step] of steps.entries()) {
    const read = readStep(step, index + 1);
    if (read.kind === "commit") folded.apply(step.role, read.commit);
    else if (read.kind === "pause") asked = read;
    else if (read.kind === "rerun")
      folded = new Fold(workflow, rerun(workflow, folded.state, read.meta, find), find);
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
  const { runID, writeSeq } = state;
  const runIDFor = (): string => runID;
  if (stepID !== undefined && path !== undefined) {
    const begun = checkpoint === undefined ? state : withValues(workflow, state, checkpoint);
    beginAt({ workflow, state: begun }, { stepID, path }, overrides, find);
    return { ...begun, stopped: null };
  }
  if (checkpoint !== undefined) {
    return restoredState(workflow, checkpoint as Resumable, { runIDFor, stepID, overrides });
  }
  if (stepID !== undefined && !isNext(state.position, stepID)) {
    const { params, variables, localVars, artifacts, eventSeq } = state;
    const values = { params, variables, localVars, artifacts, eventSeq };
    const completedSteps = [...state.completedSteps];
    const marks = marksOf(workflow.outline, state);
    const resumable = { currentStepID: stepID, completedSteps, ...values, ...marks };
    return { ...restoredState(workflow, resumable, { runIDFor, stepID, overrides }), writeSeq };
  }
  const at = stepID ?? currentOf(workflow.outline, state.position);
  giveAt(workflow, state, comingStep(workflow, state, at)?.path ?? [], overrides);
  return { ...state, stopped: null };
}

/**
 * The params of a thread: those that it was started with; else those that its prompt is, when that is
 * a JSON object; else the prompt fills the param `prompt`, or the only required text param.
 *
 * @throws WorkflowError `PARAMS_INVALID` that names all that are missing or wrong.
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
  try {
    const value: unknown = JSON.parse(prompt);
    return isPlain(value) ? value : null;
  } catch {
    return null;
  }
}

function textParam({ params }: Registry, prompt: string): Record<string, unknown> {
  if (prompt === "") return {};
  const required = params.filter((param) => !("default" in param) && param.type === "STRING");
  const [only, ...others] = required;
  const name = params.some((param) => param.name === "prompt")
    ? "prompt"
    : others.length === 0
      ? only?.name
      : undefined;
  return name === undefined ? {} : { [name]: prompt };
}

/** Meta of the `__wait__` step of a Pause. */
type PauseMeta = PauseRequest & { for: "pause" };

/**
 * Meta of the `__input__` step with which a rerun begins. `checkpoint` wins over the steps before it.
 * Without `stepID` the run goes on where they, or the checkpoint, stand. With a `path` the step is that
 * of the chain there, all others stay where they are, and the overrides are those of the run it is of.
 */
export type RerunMeta = {
  for: "rerun";
  stepID?: string;
  path?: readonly PathPart[];
  overrides?: Record<string, unknown>;
  checkpoint?: unknown;
};

/** A committed step of a run as a thread records it. `content` is a line for people. */
export const commitOutput = (role: string, commit: Commit): RoleOutput => ({
  role,
  content: lineOf(role, commit),
  meta: commit,
});

/** The `__wait__` step of a Pause. */
export function pauseOutput(wait: PauseRequest): RoleOutput {
  const meta: PauseMeta = { for: "pause", ...wait };
  return { role: WAIT, content: wait.reason ?? `${wait.stepID} waits for an answer`, meta };
}

/** What a step of a thread is: a commit, a question, an answer, or where a rerun begins. */
type ReadStep =
  | { kind: "commit"; commit: Commit }
  | { kind: "pause"; stepID: string; path: PathPart[] }
  | { kind: "answer"; meta: Record<string, unknown>; content: string }
  | { kind: "rerun"; meta: RerunMeta };

/**
 * Reads a step of a thread.
 *
 * @throws WorkflowError `NOT_STEPS` for one that no step workflow made.
 */
function readStep({ role, content, meta }: RoleOutput, number: number): ReadStep {
  if (role === WAIT && meta.for === "pause") {
    return { kind: "pause", stepID: String(meta.stepID), path: (meta.path ?? []) as PathPart[] };
  }
  if (role === INPUT && meta.for === "rerun") return { kind: "rerun", meta: meta as RerunMeta };
  if (role === INPUT) return { kind: "answer", meta, content };
  if (isCommit(meta)) return { kind: "commit", commit: meta };
  throw failure(
    "NOT_STEPS",
    `step ${number} (${role}) was not made by a step workflow`,
    "a step workflow can go on only from steps of its own",
  );
}

const isCommit = (meta: Record<string, unknown>): meta is Commit =>
  Array.isArray(meta.path) && Array.isArray(meta.variables) && typeof meta.next === "string";

/** `LLM_Analyze: $plan set (1.2 KB), 12.3 s` */
function lineOf(role: string, commit: Commit): string {
  const { artifacts, durationMs, phase, selected, variables } = commit;
  if (phase === "mark") return `${role}: ${endOf(commit)}`;
  const names = [...new Set(variables.map(({ path }) => String(path[0])))];
  const sizes = variables.reduce((sum, { value }) => sum + sizeOf(value), 0);
  const parts = [
    ...(names.length > 0 ? [`${listed(names)} set (${bytes(sizes)})`] : []),
    ...(artifacts.length > 0 ? [`${listed(artifacts.map(({ path }) => path))} written`] : []),
    ...(selected ? [`chose ${selected}`] : []),
    ...(selected === null ? ["no case held"] : []),
    ...(phase === "body" ? ["begun"] : []),
    `${(durationMs / 1000).toFixed(1)} s`,
  ];
  return `${role}: ${parts.join(", ")}`;
}

// The end of a chain whose last step was left out.
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
