import {
  openAttempt,
  type OpenAttempt,
  type PathPart,
  type Turn,
} from "@uncaged/workflow/interpreter";
import type { ErrorMap } from "../adapter/error.ts";
import type { ChildExecutionContext, ExecutionContext, Handler } from "../context/context.ts";
import { deferred, type EngineEvent, type Run, Written } from "../context/run.ts";
import { BREAK, getStepType, prefixOf, RETURN, type StepType } from "../document/document.ts";
import type { Origin } from "../document/event.ts";
import type { StepDocument } from "../document/format.ts";
import { insideOf } from "../state/position.ts";
import type { Answered, Commit, Inside, Position } from "../state/state.ts";
import type { Called } from "../step/call.ts";

export type Reached = Omit<Commit, "runID" | "eventSeq" | "path">;

export type DriveOptions = {
  signal?: AbortSignal;
  /** Handlers of custom step types, by the prefix of the step ids. */
  handlers?: Readonly<Record<string, Handler>>;
  resumedFrom?: string;
};

/** Functions that the entry point passes, because chains, constructs and child runs refer to each other. */
type InterpreterParts = {
  runChain: (interpreter: Interpreter, chain: Chain) => Promise<ChainEnd>;
  drive: (
    context: ExecutionContext,
    options: DriveOptions,
  ) => AsyncGenerator<EngineEvent, unknown, Answered | undefined>;
};

/** The interpreter's shared state; one per run. */
export class Interpreter {
  readonly context: ExecutionContext;
  readonly run: Run;
  readonly handlers: Readonly<Record<string, Handler>>;
  readonly drive: InterpreterParts["drive"];
  readonly #runChain: InterpreterParts["runChain"];
  /** Resolves when the run must end while chains are running. */
  readonly halted = deferred<"stopped" | "cancelled">();

  constructor(
    context: ExecutionContext,
    handlers: Readonly<Record<string, Handler>>,
    { runChain, drive }: InterpreterParts,
  ) {
    this.context = context;
    this.run = context.run;
    this.handlers = handlers;
    this.drive = drive;
    this.#runChain = runChain;
  }

  /** Runs a chain from its position to its end. @throws Failure, or the signal's reason. */
  runChain(chain: Chain): Promise<ChainEnd> {
    return this.#runChain(this, chain);
  }

  /** Ends the run at once: aborts running steps and drops their late results. */
  halt(halt: "stopped" | "cancelled"): void {
    this.halted.resolve(halt);
    this.run.scheduler.cancel();
  }

  /**
   * Commits the progress of a chain, together with pending changes. `done` is the payload of `step_done`.
   * @throws the signal's reason if the chain was aborted.
   */
  async commit(
    id: string,
    reached: Reached,
    chain: Chain,
    attempt: OpenAttempt,
    done: Record<string, unknown> | null = null,
  ): Promise<void> {
    const { scheduler, state, unclaimed } = this.run;
    if (chain.signal.aborted) unclaimed.add(reached);
    chain.signal.throwIfAborted();
    const left = unclaimed.claim();
    const failed = chain.unclaimed.claim();
    const event = done && this.run.eventOf("step_done", id, done, originOf(attempt));
    const { iterations } = chain;
    const failures = [...left.failures, ...failed.failures, ...(reached.failures ?? [])];
    const commit: Commit = {
      ...reached,
      variables: [...left.variables, ...failed.variables, ...reached.variables],
      artifacts: [...left.artifacts, ...failed.artifacts, ...reached.artifacts],
      ...(failures.length > 0 && { failures }),
      ...(reached.next === BREAK && iterations !== undefined && { iterations }),
      path: [...chain.path],
      runID: state.runID,
      eventSeq: state.eventSeq,
    };
    if (reached.phase === "done") state.completedSteps.add(id);
    chain.committed = reached.next;
    await scheduler.commit({ kind: "commit", role: id, commit, event, attempt: attempt.id });
    chain.signal.throwIfAborted();
  }

  open({ id, meta }: Pick<StepDocument, "id" | "meta">, chain: Chain): OpenAttempt {
    const { attempts, path: around, prefix } = this.run.setup;
    const path = around.length === 0 ? chain.path : [...around, ...chain.path];
    const title = typeof meta?.title === "string" ? { title: meta.title } : {};
    return openAttempt({ attempts }, { role: `${prefix}${id}`, path, ...title });
  }
}

export const originOf = ({ id, path }: OpenAttempt): Origin => ({ attempt: id, path });

export type ChainEnd = typeof RETURN | typeof BREAK;

export const isEnd = (next: string): next is ChainEnd => next === RETURN || next === BREAK;

/** A sequence of steps, at the top level or inside a construct. */
export type Chain = {
  path: readonly PathPart[];
  locals: Record<string, unknown>;
  signal: AbortSignal;
  position: Position;
  /** The number of iterations of its loop, including the iterations that a BREAK skips. */
  iterations?: number;
  committed: string | null;
  /** The failure that this chain handles, `_error`. */
  handled: ErrorMap | null;
  /** Writes of a failed step, committed with the step that handles the failure. */
  unclaimed: Written;
  /** The Branch that chose this chain as its case. */
  branch?: Task;
};

/** Creates a chain that begins or continues at a position. */
export const chainAt = (
  parts: Pick<Chain, "path" | "locals" | "signal" | "position" | "iterations" | "branch">,
): Chain => ({ ...parts, committed: null, handled: null, unclaimed: new Written() });

/** A running step. `inside` is set if the step was entered before a resume. */
export type Task = {
  interpreter: Interpreter;
  chain: Chain;
  step: StepDocument;
  /** The canonical type; null for a custom type. */
  type: StepType | null;
  context: ChildExecutionContext;
  /** The current attempt. Each commit of the step ends it. */
  attempt: OpenAttempt;
  signal: AbortSignal;
  turn: Turn;
  inside: Inside | null;
  startedAt: number;
};

/** The result of a step's own work. `next` replaces the `next` of the step. */
export type Done = {
  called?: Called;
  selected?: string | null;
  next?: string;
  iterations?: number;
  stop?: { reason: string | null };
};

/** Returns the type for display: the canonical type, or the prefix of a custom handler. */
export const typeName = (step: Pick<StepDocument, "id" | "type">): string =>
  getStepType(step) ?? step.type ?? prefixOf(step.id);

export function taskOf(
  interpreter: Interpreter,
  chain: Chain,
  step: StepDocument,
  turn: Turn,
): Task {
  const { handled, locals, position, signal } = chain;
  chain.handled = null;
  const attempt = interpreter.open(step, chain);
  const context = interpreter.context.child(
    handled ? { ...locals, _error: handled } : { ...locals },
  );
  context.origin = originOf(attempt);
  const inside = insideOf(position);
  const type = getStepType(step);
  const startedAt = Date.now();
  return { interpreter, chain, step, type, context, attempt, signal, turn, inside, startedAt };
}

/** Begins another attempt at a step after a commit ended the previous attempt. */
export function renew(task: Task): void {
  task.attempt = task.interpreter.open(task.step, task.chain);
  task.context.origin = originOf(task.attempt);
}
