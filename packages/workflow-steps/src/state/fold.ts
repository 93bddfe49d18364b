import type { PathPart } from "@uncaged/workflow";
import { setPath } from "../target/target.ts";
import { chainAt, insideAt, moveTo } from "./position.ts";
import {
  type Answered,
  answerKey,
  childWorkflow,
  type Commit,
  newState,
  type RunState,
  type StepAt,
  type Workflow,
  type Write,
} from "./state.ts";

/** The state of a run as its commits make it. Each costs its own size. */
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

  /** Takes a committed step in; `role` is that of the step, `parent/child` in a child's run. */
  apply(role: string, commit: Commit): void {
    const state = this.#state;
    for (const artifact of commit.artifacts) state.artifacts[artifact.path] = artifact;
    const child = this.#childOf(commit.path);
    if (child) {
      child.fold.apply(role.slice(child.prefix.length), { ...commit, path: child.path });
      return;
    }
    for (const construct of [...commit.path.map((part) => part.in), role]) {
      // The run has come to the construct: the marks that a checkpoint had of it are used up.
      delete state.imported.completedBranches[construct];
      delete state.imported.loopProgress[construct];
    }
    state.eventSeq = Math.max(state.eventSeq, commit.eventSeq);
    for (const write of commit.variables) {
      this.#history.add(write);
      state.writeSeq = Math.max(state.writeSeq, write.seq);
    }
    state.answers.delete(answerKey(role, commit.path));
    if (commit.phase === "done") {
      const ended = chainAt(state.position, commit.path).inside?.child;
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

  /** The child's run that a path leads into, and what of the path lies in it; null for one of its own. */
  #childOf(path: readonly PathPart[]) {
    const at = path.findIndex((part) => "run" in part);
    if (at < 0) return null;
    const { in: parent } = path[at] as PathPart;
    const { child } = insideAt(chainAt(this.#state.position, path.slice(0, at)), parent);
    if (!child) throw new Error(`the log has no start of the workflow that ${parent} runs`);
    let fold = this.#children.get(child.state);
    if (!fold) {
      fold = new Fold(childWorkflow(this.#workflow, child.begun), child.state);
      this.#children.set(child.state, fold);
    }
    return { fold, prefix: `${parent}/`, path: path.slice(at + 1) };
  }
}

/** Puts one write into the variables. `owned` are the containers that no one else can see. */
export function applyWrite(
  variables: Record<string, unknown>,
  { path, value }: Write,
  owned: WeakSet<object>,
): void {
  const [name, ...rest] = path as [string, ...(string | number)[]];
  variables[name] = rest.length === 0 ? value : setPath(variables[name], rest, value, owned);
}

type Past = { base: unknown; baseSeq: number; writes: Write[]; isStale: boolean };

// Concurrent steps commit in another order than they wrote: a write that comes late is put where it
// belongs, and the variable is made again from the last time that it was written whole.
class WriteHistory {
  readonly #variables: Record<string, unknown>;
  // What the writes below have made: values themselves are shared with the log.
  readonly #owned = new WeakSet<object>();
  readonly #pasts = new Map<string, Past>();

  /** @param variables The values to begin with; they are changed. */
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

  /** Makes the variables again that were written late. */
  settle(): void {
    for (const [name, past] of this.#pasts) {
      if (!past.isStale) continue;
      this.#variables[name] = past.base;
      for (const write of past.writes) applyWrite(this.#variables, write, this.#owned);
      past.isStale = false;
    }
  }
}
