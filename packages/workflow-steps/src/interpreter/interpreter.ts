import type { ErrorMap } from "../adapter/error.ts";
import type { ChildExecutionContext, ExecutionContext } from "../context/context.ts";
import type { Answered, Happening } from "../context/feed.ts";
import type { Run } from "../context/run.ts";
import {
  BREAK,
  getStepType,
  prefixOf,
  RETURN,
  type StepDocument,
  type StepType,
} from "../document/document.ts";
import type { Outline } from "../outline/outline.ts";
import { type MarkChanges, noChanges } from "../state/checkpoint.ts";
import { type Inside, insideOf, type Position } from "../state/position.ts";
import {
  applyMarks,
  type Artifact,
  type Commit,
  type PathPart,
  type Write,
} from "../state/state.ts";
import type { Called } from "../step/call.ts";
import { Gate, type StepGate } from "./gate.ts";

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

/** Variable writes and files of a step. */
type Written = { variables: Write[]; artifacts: Artifact[] };

/** How a chain ended. */
export type ChainEnd = typeof RETURN | typeof BREAK;

/**
 * Steps that follow each other, at the top or inside a construct. `path` are the constructs around it,
 * `locals` what its expressions see beside the run's names.
 */
export class Chain {
  readonly path: readonly PathPart[];
  readonly locals: Record<string, unknown>;
  readonly signal: AbortSignal;
  position: Position;
  /** What failed, for the step that handles it: `_error`. */
  handled: ErrorMap | null = null;
  #left: Written = { variables: [], artifacts: [] };
  #onEnd: ((end: ChainEnd) => MarkChanges) | null;

  constructor(parts: {
    path: readonly PathPart[];
    locals: Record<string, unknown>;
    signal: AbortSignal;
    position: Position;
    /** The marks that the commit with which the chain ends must carry. Called once. */
    onEnd?: (end: ChainEnd) => MarkChanges;
  }) {
    this.path = parts.path;
    this.locals = parts.locals;
    this.signal = parts.signal;
    this.position = parts.position;
    this.#onEnd = parts.onEnd ?? null;
  }

  /** Keeps what a failed step wrote for the commit of the step that handles it. */
  leave({ variables, artifacts }: Written): void {
    this.#left.variables.push(...variables);
    this.#left.artifacts.push(...artifacts);
  }

  /** Takes what was kept. */
  claim(): Written {
    const left = this.#left;
    this.#left = { variables: [], artifacts: [] };
    return left;
  }

  /** Says that the chain goes on at `next`: the marks to commit with that. */
  marksAt(next: string): MarkChanges {
    return isEnd(next) ? this.end(next) : noChanges();
  }

  /** Ends the chain: its marks, if they were not taken before. */
  end(end: ChainEnd): MarkChanges {
    const marks = this.#onEnd?.(end) ?? noChanges();
    this.#onEnd = null;
    return marks;
  }
}

/** Whether a chain ends instead of going on at a step. */
export const isEnd = (next: string): next is ChainEnd => next === RETURN || next === BREAK;

/** One step that is carried out. `inside` is set when it was entered before the run was taken up. */
export type Task = {
  interpreter: Interpreter;
  chain: Chain;
  step: StepDocument;
  /** `null` for a type of the caller's own. */
  type: StepType | null;
  context: ChildExecutionContext;
  signal: AbortSignal;
  inside: Inside | null;
  startedAt: number;
};

/** What a step's own work gave. `next` is where its chain goes on when that is not what the step says. */
export type Done = {
  called?: Called;
  selected?: string | null;
  next?: string;
  /** What goes with the step's commit. */
  marks?: MarkChanges;
  /** Ends the run. */
  stop?: { reason: string | null };
};

/** The type as it is shown: the canonical one, or the prefix of a custom handler. */
export const typeName = (step: Pick<StepDocument, "id" | "type">): string =>
  getStepType(step) ?? step.type ?? prefixOf(step.id);

/** The task of the step that a chain has come to. */
export function taskOf(interpreter: Interpreter, chain: Chain, step: StepDocument): Task {
  const { context, run } = interpreter;
  const locals = chain.handled ? { ...chain.locals, _error: chain.handled } : { ...chain.locals };
  const carried = carriedOf(interpreter, step.id);
  chain.handled = null;
  return {
    interpreter,
    chain,
    step,
    type: getStepType(step),
    context: context.child(locals),
    signal: chain.signal,
    inside: chain.position.inside ?? carried,
    startedAt: run.setup.now(),
  };
}

// Of a checkpoint's marks only those count that the run comes to first.
function carriedOf({ run }: Interpreter, id: string): Inside | null {
  const { state, workflow } = run;
  const isCarried = state.carried.delete(id);
  return isCarried ? insideOf(workflow.outline, id, state) : null;
}

/** Finds the constructs whose marks belong to a chain: those that it can come to. Each chain is looked at once. */
export function nestedConstructs(outline: Outline): (child: string) => readonly string[] {
  const known = new Map<string, readonly string[]>();
  return (child) => {
    const found = known.get(child);
    if (found) return found;
    const nested = [...outline.reachableFrom(child)].filter(
      (id) => (outline.steps.get(id)?.children?.length ?? 0) > 0,
    );
    known.set(child, nested);
    return nested;
  };
}
