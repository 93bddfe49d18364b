import { WorkflowError } from "@uncaged/workflow";
import { ENTRY } from "../document/document.ts";
import { isPlain } from "../expression/value.ts";
import { idIn, type StepAt } from "./path.ts";
import {
  chainAt,
  chainKey,
  type Inside,
  insideAt,
  moveTo,
  type Position,
  runsIn,
  startAt,
} from "./position.ts";
import {
  answerKey,
  type ChildRun,
  type Commit,
  WriteHistory,
  newState,
  type PathPart,
  type PauseAnswer,
  type RunState,
  type Workflow,
  writable,
  type Write,
} from "./state.ts";

/** Finds the workflow of a child's run. */
export type FindWorkflow = (child: ChildRun) => Workflow;

/**
 * The state of a run as its commits make it: the only source of checkpoints, for a run in this
 * process and for a thread's log alike. A commit costs its own size.
 */
export class Fold {
  readonly #workflow: Workflow;
  readonly #state: RunState;
  readonly #history: WriteHistory;
  readonly #findWorkflow: FindWorkflow;
  readonly #children = new Map<RunState, Fold>();

  /** @param state What the run begins with; it is changed. */
  constructor(workflow: Workflow, state: RunState, findWorkflow: FindWorkflow) {
    this.#workflow = workflow;
    this.#state = state;
    this.#history = new WriteHistory(state.variables);
    this.#findWorkflow = findWorkflow;
    for (const { run, child } of runsIn(state.position)) {
      this.#children.set(run, new Fold(findWorkflow(child), run, findWorkflow));
    }
  }

  /** The state now. It changes with the next commit. */
  get state(): RunState {
    this.#history.settled();
    for (const child of this.#children.values()) void child.state;
    return this.#state;
  }

  /** Takes a committed step in; `role` is that of the step, `parent/child` in a child's run. */
  apply(role: string, commit: Commit): void {
    const at = commit.path.findIndex((part) => "run" in part);
    if (at >= 0) return this.#applyToChild(role, commit, at);
    for (const part of commit.path) this.#forget(part.in);
    this.#forget(role);
    this.#state.eventSeq = Math.max(this.#state.eventSeq, commit.eventSeq);
    for (const write of commit.variables) this.write(write);
    for (const artifact of commit.artifacts) this.#state.artifacts[artifact.path] = artifact;
    this.#state.answers.delete(answerKey(role, commit.path));
    if (commit.phase === "done") this.#finish(role, commit);
    moveTo(this.#workflow.outline, this.#state.position, role, commit);
    if (commit.stop) this.#state.stopped = { id: role, reason: commit.stop.reason };
    if (commit.child) this.#begin(role, commit.path, commit.child);
  }

  /** Takes in the answer that a Pause got. */
  answer(answer: PauseAnswer): void {
    const at = answer.path.findIndex((part) => "run" in part);
    const parent = answer.path[at]?.in;
    if (parent === undefined) {
      this.#state.answers.set(answerKey(answer.stepID, answer.path), answer);
    } else {
      const stepID = answer.stepID.slice(parent.length + 1);
      this.#childAt(answer.path, at).answer({ ...answer, stepID, path: answer.path.slice(at + 1) });
    }
  }

  /** Takes in a write that no step made. */
  write(write: Write): void {
    this.#history.add(write);
    this.#state.writeSeq = Math.max(this.#state.writeSeq, write.seq);
  }

  // The run has come to the construct: the marks that a checkpoint had of it are used up.
  #forget(construct: string): void {
    const { completedBranches, loopProgress } = this.#state.imported;
    delete completedBranches[construct];
    delete loopProgress[construct];
  }

  #finish(role: string, { path }: Commit): void {
    const run = chainAt(this.#state.position, path).inside?.run;
    if (run) this.#children.delete(run);
    this.#state.completedSteps.add(role);
  }

  #begin(role: string, path: readonly PathPart[], child: ChildRun): void {
    const workflow = this.#findWorkflow(child);
    const state = newState(workflow, child.runID, child.params);
    const inside = insideAt(chainAt(this.#state.position, path), role);
    inside.run = state;
    inside.child = child;
    this.#children.set(state, new Fold(workflow, state, this.#findWorkflow));
  }

  #applyToChild(role: string, commit: Commit, at: number): void {
    const child = this.#childAt(commit.path, at);
    for (const artifact of commit.artifacts) this.#state.artifacts[artifact.path] = artifact;
    const parent = (commit.path[at] as PathPart).in;
    child.apply(role.slice(parent.length + 1), { ...commit, path: commit.path.slice(at + 1) });
  }

  #childAt(path: readonly PathPart[], at: number): Fold {
    const { in: parent } = path[at] as PathPart;
    const { run } = insideAt(chainAt(this.#state.position, path.slice(0, at)), parent);
    const child = run && this.#children.get(run);
    if (!child) throw new Error(`the log has no start of the workflow that ${parent} runs`);
    return child;
  }
}

/** The locals that each iteration of a loop has of its own. */
const ofIteration: ReadonlySet<string> = new Set(["_item", "_index", "_iterDir"]);

/**
 * Puts other values into a run's state that goes on at a path: of `$variables`, of `_locals` and of params.
 * An `_item`, `_index` and `_iterDir` are those of the innermost iteration there, and of no later one.
 *
 * @throws WorkflowError those of {@link applyOverrides}.
 */
export function giveAt(
  workflow: Workflow,
  state: RunState,
  path: readonly PathPart[],
  overrides: Record<string, unknown>,
): void {
  const locals = isPlain(overrides) ? givenAt(state.position, path) : null;
  if (!locals) return applyOverrides(workflow, state, overrides);
  const names = Object.keys(overrides);
  const those = (isOf: (name: string) => boolean) =>
    Object.fromEntries(names.filter(isOf).map((name) => [name, overrides[name]]));
  const inner = those((name) => ofIteration.has(name));
  applyOverrides(workflow, { ...state, localVars: locals }, inner);
  applyOverrides(
    workflow,
    state,
    those((name) => !ofIteration.has(name)),
  );
}

/** The locals given to the innermost iteration on a path, to be changed; null when it lies in none. */
function givenAt(root: Position, path: readonly PathPart[]): Record<string, unknown> | null {
  const depth = path.findLastIndex((part) => "child" in part && part.iteration !== undefined);
  const part = path[depth];
  if (!part || !("child" in part) || part.iteration === undefined) return null;
  const { given } = insideAt(chainAt(root, path.slice(0, depth)), part.in);
  const locals = { ...given.get(part.iteration) };
  given.set(part.iteration, locals);
  return locals;
}

/**
 * Puts other values into a state: of `$variables`, of `_locals` and of params.
 *
 * @throws WorkflowError `OVERRIDE_UNKNOWN` (missing) for a name that the workflow does not declare,
 * `PARAMS_INVALID` for a param of the wrong type, `VALUE_NOT_JSON` for what no variable can hold.
 */
function applyOverrides(
  { registry }: Workflow,
  state: Pick<RunState, "variables" | "localVars" | "params">,
  overrides: Record<string, unknown>,
): void {
  if (!isPlain(overrides)) throw noRecord();
  for (const [name, value] of Object.entries(overrides)) {
    const values = name.startsWith("$")
      ? registry.vars.some((one) => one.name === name) && state.variables
      : name.startsWith("_")
        ? !name.startsWith("__") && state.localVars
        : registry.params.some((one) => one.name === name) && state.params;
    if (!values) throw unknownName(name, [...registry.vars, ...registry.params]);
    const written = writable(value, name);
    values[name] =
      values === state.params ? registry.someParams({ [name]: written })[name] : written;
  }
}

const noRecord = (): WorkflowError =>
  new WorkflowError({
    code: "OVERRIDE_UNKNOWN",
    kind: "missing",
    message: "overrides must be an object, with a new value for each name",
    hint: "give { $variable: value }",
  });

function unknownName(name: string, declared: { name: string }[]): WorkflowError {
  const names = declared.map((one) => one.name).slice(0, 20);
  return new WorkflowError({
    code: "OVERRIDE_UNKNOWN",
    kind: "missing",
    message: `the workflow declares no ${JSON.stringify(name)} that could get another value`,
    hint: names.length > 0 ? `it declares ${names.join(", ")}` : "it declares no names",
  });
}

/** A run, the one of the whole thread or a child's, and the part of a path that lies in it. */
type RunAt = { workflow: Workflow; state: RunState; path: readonly PathPart[] };

/**
 * The innermost run that a path leads into.
 *
 * @throws WorkflowError `PLACE_UNKNOWN` (missing) when no such run is open.
 */
export function runAt({ workflow, state, path }: RunAt, find: FindWorkflow): RunAt {
  const at = path.findIndex((part) => "run" in part);
  const part = path[at];
  if (!part || !("run" in part)) return { workflow, state, path };
  const inside = openAt(state.position, path.slice(0, at), part.in);
  if (!inside?.run || !inside.child || inside.run.runID !== part.run) {
    throw unknownPath(`no workflow ${part.run} that ${part.in} runs is open`);
  }
  const inner = { workflow: find(inside.child), state: inside.run, path: path.slice(at + 1) };
  return runAt(inner, find);
}

/**
 * Has a run go on with a step at a path, and with other values: those of the run that the step is of.
 * All other chains stay where they stand. The state is changed.
 *
 * @throws WorkflowError `PLACE_UNKNOWN` (missing) when the run can't come to that path, and those of
 * `giveAt`.
 */
export function beginAt(
  whole: { workflow: Workflow; state: RunState },
  at: StepAt,
  overrides: Record<string, unknown>,
  find: FindWorkflow,
): void {
  const { workflow, state, path } = runAt({ ...whole, path: at.path }, find);
  const id = idIn(at.stepID, at.path);
  if (!workflow.outline.steps.has(id)) throw unknownPath(`there is no step ${id}`);
  checkWay(workflow, state, path);
  const chain = chainAt(state.position, path);
  if (chain.next !== id) Object.assign(chain, startAt(id));
  giveAt(workflow, state, path, overrides);
}

function checkWay({ outline }: Workflow, state: RunState, path: readonly PathPart[]): void {
  for (const [depth, part] of path.entries()) {
    const isKnown = part.in === ENTRY || outline.steps.has(part.in);
    if (!isKnown) throw unknownPath(`there is no step ${part.in}`);
    if (!("child" in part)) continue;
    if (!outline.steps.has(part.child)) throw unknownPath(`there is no step ${part.child}`);
    const inside = openAt(state.position, path.slice(0, depth), part.in);
    if ((part.iteration ?? 0) < (inside?.finished ?? 0)) {
      throw unknownPath(`iteration ${part.iteration} of ${part.in} is done`);
    }
    // What is entered anew has no marks of the time before.
    if (!inside) delete state.imported.completedBranches[part.in];
    if (!inside) delete state.imported.loopProgress[part.in];
  }
}

/** A construct that was entered; null when it was not. */
function openAt(root: Position, path: readonly PathPart[], construct: string): Inside | null {
  let at: Position | undefined = root;
  for (const part of path) {
    const inside: Inside | null = at?.next === part.in ? at.inside : null;
    if (!inside || !("child" in part)) return null;
    const { child, iteration } = part;
    at = inside.chains.get(chainKey(child, iteration));
  }
  return at?.next === construct ? at.inside : null;
}

const unknownPath = (why: string): WorkflowError =>
  new WorkflowError({
    code: "PLACE_UNKNOWN",
    kind: "missing",
    message: `the run can't go on at that path: ${why}`,
    hint: "take the path as the thread's own steps have it, and keep the steps before it",
  });
