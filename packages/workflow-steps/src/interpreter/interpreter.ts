import type { ExecutionContext } from "../context/context.ts";
import type { Answered, Happening } from "../context/feed.ts";
import type { Run } from "../context/run.ts";
import type { Commit } from "../state/commit.ts";
import type { MarkChanges } from "../state/marks.ts";
import { applyMarks } from "../state/state.ts";
import type { Chain, ChainEnd } from "./chain.ts";
import { Gate, type StepGate } from "./gate.ts";
import { nestedConstructs } from "./nested.ts";

/** Why a run ends before its chains do: a Stop, or a word from outside. */
export type Halt = "stopped" | "cancelled";

/** What a chain commits, apart from what the interpreter knows itself. */
export type Reached = Omit<
  Commit,
  "runID" | "eventSeq" | "completedBranches" | "loopProgress" | "path"
>;

/** How a run is driven: a child workflow's as its parent's. */
export type Drive = (
  context: ExecutionContext,
  options: { signal?: AbortSignal; gate?: StepGate },
) => AsyncGenerator<Happening, unknown, Answered | undefined>;

/** Constructs hold chains, and chains constructs: the root of the interpreter joins the two. */
export type InterpreterParts = {
  gate?: StepGate;
  runChain: (interpreter: Interpreter, chain: Chain) => Promise<ChainEnd>;
  drive: Drive;
};

/** What the parts of the interpreter share: one per run. */
export class Interpreter {
  readonly context: ExecutionContext;
  readonly run: Run;
  readonly gate: StepGate;
  /** Resolves when the run is to end although chains are under way. */
  readonly halted: Promise<Halt>;
  readonly #parts: InterpreterParts;
  readonly #abort = new AbortController();
  readonly #halt: (halt: Halt) => void;
  readonly #nested: (child: string) => readonly string[];
  readonly #cycles: ReadonlyMap<string, number>;

  constructor(context: ExecutionContext, parts: InterpreterParts) {
    this.context = context;
    this.gate = parts.gate ?? new Gate();
    this.#parts = parts;
    this.run = context.run;
    const { promise, resolve } = Promise.withResolvers<Halt>();
    this.halted = promise;
    this.#halt = resolve;
    const { outline } = this.run.workflow;
    this.#nested = nestedConstructs(outline);
    this.#cycles = new Map(
      outline.cycles.flatMap((ids, cycle) => ids.map((id) => [id, cycle] as const)),
    );
  }

  /** Aborted when the run ends, in whatever way. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Runs a chain from where it stands to its end. @throws Failure, or the signal's reason. */
  runChain(chain: Chain): Promise<ChainEnd> {
    return this.#parts.runChain(this, chain);
  }

  /** Drives the run of a child workflow. */
  get drive(): Drive {
    return this.#parts.drive;
  }

  /** Ends the run at once. */
  halt(halt: Halt): void {
    this.#halt(halt);
    this.close();
  }

  /** Aborts what is under way: its late results are dropped. */
  close(): void {
    this.#abort.abort();
  }

  /**
   * Commits what a chain has reached, with what was left for the next commit. `told` is the payload of
   * the `step_done` that is published after it.
   *
   * @throws the signal's reason when the chain was aborted in the meantime.
   */
  async commit(
    id: string,
    reached: Reached,
    chain: Chain,
    marks: MarkChanges,
    told: Record<string, unknown> | null,
  ): Promise<void> {
    const { run } = this;
    if (chain.signal.aborted)
      run.leave({ variables: reached.variables, artifacts: reached.artifacts });
    chain.signal.throwIfAborted();
    const left = run.claim();
    const failed = chain.claim();
    const event = told && run.eventOf("step_done", id, told);
    const commit: Commit = {
      ...reached,
      variables: [...left.variables, ...failed.variables, ...reached.variables],
      artifacts: [...left.artifacts, ...failed.artifacts, ...reached.artifacts],
      completedBranches: { ...left.marks.completedBranches, ...marks.completedBranches },
      loopProgress: { ...left.marks.loopProgress, ...marks.loopProgress },
      path: [...chain.path],
      runID: run.state.runID,
      eventSeq: run.state.eventSeq,
    };
    if (reached.phase === "done") run.state.completedSteps.add(id);
    await run.feed.commit(id, commit, event);
    chain.signal.throwIfAborted();
  }

  /** Changes marks in the state, and gives the change. */
  mark(changes: MarkChanges): MarkChanges {
    applyMarks(this.run.state.completedBranches, changes.completedBranches);
    applyMarks(this.run.state.loopProgress, changes.loopProgress);
    return changes;
  }

  /** Clears the marks of constructs, where they have any. */
  clear(constructs: readonly string[]): MarkChanges {
    const { carried, completedBranches, loopProgress } = this.run.state;
    for (const id of constructs) carried.delete(id);
    const cleared = (marks: Record<string, unknown>): Record<string, null> =>
      Object.fromEntries(constructs.filter((id) => id in marks).map((id) => [id, null]));
    return this.mark({
      completedBranches: cleared(completedBranches),
      loopProgress: cleared(loopProgress),
    });
  }

  /** Whether two steps lead to each other. */
  isCycle(one: string, other: string): boolean {
    return this.#cycles.get(one) !== undefined && this.#cycles.get(one) === this.#cycles.get(other);
  }

  /** Clears the marks of all constructs inside of the chains that begin with `children`. */
  clearInside(children: readonly string[]): MarkChanges {
    return this.clear(children.flatMap((child) => this.#nested(child)));
  }
}
