import type { ChildRun, Commit, PathPart, Write } from "./commit.ts";
import { History } from "./history.ts";
import { chainAt, insideAt, moveTo, runsIn } from "./position.ts";
import { answerKey, applyMarks, newState, type PauseAnswer, type RunState } from "./state.ts";
import type { Workflow } from "./workflow.ts";

/** Finds the workflow of a child's run. */
export type FindWorkflow = (child: ChildRun) => Workflow;

/**
 * The state of a run as its commits make it: the only source of checkpoints, for a run in this
 * process and for a thread's log alike. A commit costs its own size.
 */
export class Fold {
  readonly #state: RunState;
  readonly #history: History;
  readonly #findWorkflow: FindWorkflow;
  readonly #children = new Map<RunState, Fold>();

  /** @param state What the run begins with; it is changed. */
  constructor(state: RunState, findWorkflow: FindWorkflow) {
    this.#state = state;
    this.#history = new History(state.variables);
    this.#findWorkflow = findWorkflow;
    for (const run of runsIn(state.position)) this.#children.set(run, new Fold(run, findWorkflow));
  }

  /** The state now. It changes with the next commit. */
  get state(): RunState {
    this.#history.settled();
    for (const child of this.#children.values()) void child.state;
    return this.#state;
  }

  /** Takes a committed step in; `role` is as the step bears it, `parent/child` in a child's run. */
  apply(role: string, commit: Commit): void {
    const at = commit.path.findIndex((part) => "run" in part);
    if (at >= 0) return this.#applyToChild(role, commit, at);
    for (const part of commit.path) this.#state.carried.delete(part.in);
    this.#state.carried.delete(role);
    this.#state.eventSeq = Math.max(this.#state.eventSeq, commit.eventSeq);
    for (const write of commit.variables) this.write(write);
    for (const artifact of commit.artifacts) this.#state.artifacts[artifact.path] = artifact;
    applyMarks(this.#state.completedBranches, commit.completedBranches);
    applyMarks(this.#state.loopProgress, commit.loopProgress);
    this.#state.answers.delete(answerKey(role, commit.path));
    if (commit.phase === "done") this.#finish(role, commit);
    moveTo(this.#state.position, role, commit);
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

  #finish(role: string, { path }: Commit): void {
    const run = chainAt(this.#state.position, path).inside?.run;
    if (run) this.#children.delete(run);
    this.#state.completedSteps.add(role);
  }

  #begin(role: string, path: readonly PathPart[], child: ChildRun): void {
    const state = newState(this.#findWorkflow(child), child.runID, child.params);
    const inside = insideAt(chainAt(this.#state.position, path), role);
    inside.run = state;
    inside.child = child;
    this.#children.set(state, new Fold(state, this.#findWorkflow));
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
