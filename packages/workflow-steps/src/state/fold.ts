import type { PathPart } from "@uncaged/workflow/interpreter";
import { ENTRY } from "../document/document.ts";
import { ExpressionEvaluator } from "../expression/expression.ts";
import { isPlain } from "../expression/value.ts";
import { setPath } from "../document/target.ts";
import { idIn } from "./step-runs.ts";
import { chainAt, forget, insideAt, moveOn, moveTo, openAt } from "./position.ts";
import {
  type Answered,
  answerKey,
  childWorkflow,
  type Commit,
  newState,
  type RunState,
  type StepAt,
  type Workflow,
  writable,
  type Write,
} from "./state.ts";
import {
  iterationOver,
  noStepOnPath,
  overridesNotObject,
  runNotOpen,
  unknownOverride,
} from "./errors.ts";

/** Folds the commits of a run to its state, in time linear in their size. */
export class Fold {
  readonly #workflow: Workflow;
  readonly #state: RunState;
  readonly #history: WriteHistory;
  readonly #children = new Map<RunState, Fold>();

  constructor(workflow: Workflow, state: RunState) {
    this.#workflow = workflow;
    this.#state = state;
    this.#history = new WriteHistory(state.variables);
  }

  get state(): RunState {
    this.#history.settle();
    for (const child of this.#children.values()) void child.state;
    return this.#state;
  }

  /** Applies a committed step. `role` is the step's role: `parent/child` in a child workflow's run. */
  apply(role: string, commit: Commit): void {
    const state = this.#state;
    for (const artifact of commit.artifacts) state.artifacts[artifact.path] = artifact;
    const child = this.#childOf(commit.path);
    if (child) {
      child.fold.apply(role.slice(child.prefix.length), { ...commit, path: child.path });
      return;
    }
    state.eventSeq = Math.max(state.eventSeq, commit.eventSeq);
    for (const write of commit.variables) {
      this.#history.add(write);
      state.writeSeq = Math.max(state.writeSeq, write.seq);
    }
    state.answers.delete(answerKey(role, commit.path));
    if (commit.phase === "done") {
      const ended = chainAt(state.position, commit.path).insides.get(role)?.child;
      if (ended) this.#children.delete(ended.state);
      state.completedSteps.add(role);
    }
    moveTo(this.#workflow.outline, state.position, role, commit);
    if (commit.stop) state.stopped = { id: role, reason: commit.stop.reason };
    if (commit.child) {
      const { runID, params } = commit.child;
      const begun = newState(childWorkflow(this.#workflow, commit.child), runID, params);
      const inside = insideAt(chainAt(state.position, commit.path), role);
      inside.child = { state: begun, begun: commit.child };
    }
  }

  answer({ stepID, path }: StepAt, answer: Answered): void {
    const child = this.#childOf(path);
    if (!child) this.#state.answers.set(answerKey(stepID, path), answer);
    else child.fold.answer({ stepID: stepID.slice(child.prefix.length), path: child.path }, answer);
  }

  /**
   * Returns the fold of a child workflow's run on a path, with the rest of the path; null if the path is in this run.
   */
  #childOf(path: readonly PathPart[]) {
    const at = path.findIndex((part) => "run" in part);
    if (at < 0) return null;
    const { in: parent } = path[at] as PathPart;
    const { child } = insideAt(chainAt(this.#state.position, path.slice(0, at)), parent);
    if (!child) throw new Error(`the log is missing the start of the workflow that ${parent} runs`);
    let fold = this.#children.get(child.state);
    if (!fold) {
      fold = new Fold(childWorkflow(this.#workflow, child.begun), child.state);
      this.#children.set(child.state, fold);
    }
    return { fold, prefix: `${parent}/`, path: path.slice(at + 1) };
  }
}

/**
 * Applies one write to the variables. `owned` has the containers that belong to these variables alone, so the write may
 * change them.
 */
export function applyWrite(
  variables: Record<string, unknown>,
  { path, value }: Write,
  owned: WeakSet<object>,
): void {
  const [name, ...rest] = path as [string, ...(string | number)[]];
  variables[name] = rest.length === 0 ? value : setPath(variables[name], rest, value, owned);
}

type Past = { base: unknown; baseSeq: number; writes: Write[]; isStale: boolean };

// Concurrent steps may commit in a different order from their writes. This class inserts a late write in its place, and
// rebuilds the variable from its last whole write.
class WriteHistory {
  readonly #variables: Record<string, unknown>;
  // Containers created by writes. All other values are shared with the log.
  readonly #owned = new WeakSet<object>();
  readonly #pasts = new Map<string, Past>();

  /** @param variables The initial values; this class changes the record. */
  constructor(variables: Record<string, unknown>) {
    this.#variables = variables;
  }

  add(write: Write): void {
    const name = String(write.path[0]);
    let past = this.#pasts.get(name);
    if (!past) {
      past = { base: this.#variables[name], baseSeq: 0, writes: [], isStale: false };
      this.#pasts.set(name, past);
    }
    if (write.seq <= past.baseSeq) return;
    const isLast = write.seq > (past.writes.at(-1)?.seq ?? past.baseSeq);
    if (write.path.length === 1) {
      past.writes = past.writes.filter(({ seq }) => seq > write.seq);
      past.base = write.value;
      past.baseSeq = write.seq;
    } else {
      const before = past.writes.findLastIndex(({ seq }) => seq < write.seq);
      past.writes.splice(before + 1, 0, write);
    }
    if (isLast && !past.isStale) applyWrite(this.#variables, write, this.#owned);
    else past.isStale = true;
  }

  /** Rebuilds the variables that have late writes. */
  settle(): void {
    for (const [name, past] of this.#pasts) {
      if (!past.isStale) continue;
      this.#variables[name] = past.base;
      for (const write of past.writes) applyWrite(this.#variables, write, this.#owned);
      past.isStale = false;
    }
  }
}

/** A run of the thread or of a child workflow, and the part of a path inside it. */
type RunAt = { workflow: Workflow; state: RunState; path: readonly PathPart[] };

/**
 * Returns the innermost run on a path.
 * @throws WorkflowError `PLACE_UNKNOWN` for a missing place.
 */
export function runAt({ workflow, state, path }: RunAt): RunAt {
  const at = path.findIndex((part) => "run" in part);
  const part = path[at];
  if (!part || !("run" in part)) return { workflow, state, path };
  const child = openAt(state.position, path.slice(0, at), part.in)?.child;
  if (child?.state.runID !== part.run) {
    throw runNotOpen(part.run, part.in);
  }
  const inner = childWorkflow(workflow, child.begun);
  return runAt({ workflow: inner, state: child.state, path: path.slice(at + 1) });
}

/**
 * Moves a run to a step at a path, and overrides values for the step's run. All other chains keep their positions.
 * Changes the state.
 * @throws WorkflowError `PLACE_UNKNOWN` for a missing place, and the errors of {@link giveAt}.
 */
export function beginAt(
  whole: Omit<RunAt, "path">,
  at: StepAt,
  overrides: Record<string, unknown>,
): void {
  const run = runAt({ ...whole, path: at.path });
  checkPath(run, idIn(at));
  const chain = chainAt(run.state.position, run.path);
  if (chain.next !== idIn(at)) moveOn(chain, idIn(at));
  giveAt(run, overrides);
}

function checkPath({ workflow, state, path }: RunAt, id: string): void {
  const named = path.flatMap((part) => ("child" in part ? [part.in, part.child] : [part.in]));
  const { steps } = workflow.outline;
  const unknown = [id, ...named].find((one) => one !== ENTRY && !steps.has(one));
  if (unknown !== undefined) throw noStepOnPath(unknown);
  for (const [depth, part] of path.entries()) {
    const inside = openAt(state.position, path.slice(0, depth), part.in);
    const { iteration = 0 } = part as { iteration?: number };
    if (inside && iteration < inside.finished) throw iterationOver(iteration, part.in);
    if (inside) continue;
    // The construct begins again, without progress.
    forget(state.position, path.slice(0, depth), part.in);
  }
}

const ofIteration: ReadonlySet<string> = new Set(["_item", "_index", "_iterDir"]);

/**
 * Overrides values in a run that continues at a path. `_item`, `_index` and `_iterDir` apply only to the innermost
 * iteration on the path.
 * @throws WorkflowError `OVERRIDE_UNKNOWN` for a missing name, `PARAMS_INVALID`, `VALUE_NOT_JSON`.
 */
export function giveAt(
  { workflow: { registry }, state, path }: RunAt,
  overrides: Record<string, unknown>,
): void {
  if (!isPlain(overrides)) throw overridesNotObject();
  const given = givenAt(state, path);
  for (const [name, value] of Object.entries(overrides)) {
    const written = writable(value, name);
    if (registry.vars.some((one) => one.name === name)) state.variables[name] = written;
    else if (registry.params.some((one) => one.name === name)) {
      state.params[name] = registry.someParams({ [name]: written })[name];
    } else if (/^_(?!_)/.test(name)) {
      const values = given && ofIteration.has(name) ? given : state.localVars;
      values[name] = written;
    } else {
      const declared = [...registry.vars, ...registry.params].map((one) => one.name);
      throw unknownOverride(name, declared);
    }
  }
}

/** Returns the overridden locals of the innermost iteration on a path, as a mutable record; null outside iterations. */
function givenAt(state: RunState, path: readonly PathPart[]): Record<string, unknown> | null {
  const depth = path.findLastIndex((part) => "child" in part && part.iteration !== undefined);
  if (depth < 0) return null;
  const part = path[depth] as { in: string; iteration: number };
  const { given } = insideAt(chainAt(state.position, path.slice(0, depth)), part.in);
  const locals = { ...given.get(part.iteration) };
  given.set(part.iteration, locals);
  return locals;
}

/** Returns the locals of a step at a path, from its run and the enclosing iterations. */
export function localsAt({ workflow, state, path }: RunAt): Record<string, unknown> {
  const locals = { ...state.localVars };
  for (const [depth, part] of path.entries()) {
    if (!("child" in part) || part.iteration === undefined) continue;
    const given = openAt(state.position, path.slice(0, depth), part.in)?.given.get(part.iteration);
    Object.assign(locals, {
      ...itemAt(workflow, { ...state, localVars: locals }, part.in, part.iteration),
      _index: part.iteration,
      _iterDir: `${part.in}_${part.iteration}`,
      ...given,
    });
  }
  return locals;
}

function itemAt(
  { document, outline }: Workflow,
  { localVars, params, runID, variables }: RunState,
  loop: string,
  iteration: number,
): { _item?: unknown } {
  const { name, version } = document;
  const SYSVAR = { runID, workflowID: runID, workflow: name, version };
  const evaluator = new ExpressionEvaluator({ ...params, ...variables, ...localVars, SYSVAR });
  const step = outline.steps.get(loop);
  if (step?.while !== undefined) return { _item: null };
  try {
    const source = evaluator.resolve(step?.source);
    return Array.isArray(source) ? { _item: source[iteration] ?? null } : {};
  } catch {
    return {};
  }
}
