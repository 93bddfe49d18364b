import type { LLMAdapter } from "../adapter/adapter.ts";
import { type ExecutionStatus, failure } from "../document/document.ts";
import type { Origin, RunEvent, RunEventType } from "../document/event.ts";
import { ExpressionEvaluator } from "../expression/expression.ts";
import type { Scope } from "../expression/parse.ts";
import type { Checkpoint } from "../state/checkpoint-form.ts";
import { type Artifact, writable, type Write } from "../state/state.ts";
import type { ResolvedTarget } from "../target/target.ts";
import type { Run } from "./run.ts";

/** What was answered to a resume. */
export type ResumeReply = { ok: true } | { ok: false; reason: string };

/** An answer to a Pause. The same `requestId` again has no second effect. */
export type ResumeRequest = { token: string; payload?: unknown; requestId?: string };

/** What a program can do to a run from outside: the part of a context that its engine gives. */
export type RunControl = {
  checkpoint(): Checkpoint;
  onEvent(listener: (event: RunEvent) => void): () => void;
  abort(): void;
  resume(request: ResumeRequest): Promise<ResumeReply>;
  /** Settles when the run has ended or is paused; after an answer it is another promise. */
  done(): Promise<void>;
};

/**
 * A run as programs and custom handlers see it: its state, and the values of its names.
 *
 * What a handler sets belongs to its step and is committed with it.
 */
export class ExecutionContext {
  /** The run that it shows. */
  readonly run: Run;
  /** Variable writes and files of this context's step, in the order in which they were made. */
  readonly written: { variables: Write[]; artifacts: Artifact[] } = {
    variables: [],
    artifacts: [],
  };
  /** Set when the step's `out` is mapped already. */
  isMapped = false;
  /** Set when the step has ended: what its handler does later is dropped. */
  isOver = false;
  /** The attempt at its step; null for the run as a whole. */
  origin: Origin | null = null;
  /** What the step's `out` has written: each target as it is written, and what it came to. */
  readonly targets: [string, ResolvedTarget][] = [];
  readonly #control: RunControl;
  readonly #evaluator: ExpressionEvaluator;

  constructor(run: Run, control: RunControl) {
    this.run = run;
    this.#control = control;
    this.#evaluator = new ExpressionEvaluator(this.scope);
  }

  get workflowID(): string {
    return this.run.setup.workflowID;
  }

  get runID(): string {
    return this.run.state.runID;
  }

  get status(): ExecutionStatus {
    return this.run.status;
  }

  /** The adapter of LLM steps, as the run was started with. */
  get llmAdapter(): LLMAdapter | undefined {
    return this.run.setup.adapters.llm;
  }

  /** The value of a name as expressions see it: a param, `$var`, `_local` or `SYSVAR`. */
  readonly scope: Scope = (name) => {
    const { state } = this.run;
    if (name.startsWith("$")) return own(state.variables, name);
    if (name.startsWith("_")) return this.local(name);
    return name === "SYSVAR" ? this.#system() : own(state.params, name);
  };

  /** A local name such as `_item`; undefined when there is none. */
  local(name: string): unknown {
    return own(this.run.state.localVars, name);
  }

  /** The value of an expression or a literal, as a step's field has it. @throws ExpressionError */
  evaluate(value: unknown): unknown {
    return this.#evaluator.evaluate(value);
  }

  /** The same for every value inside an object or an array, as a copy. @throws ExpressionError */
  resolve(value: unknown): unknown {
    return this.#evaluator.resolve(value);
  }

  /** Whether a condition holds. @throws ExpressionError */
  condition(value: unknown): boolean {
    return this.#evaluator.condition(value);
  }

  /**
   * Writes a variable: `["$list", 0, "name"]` writes `$list[0].name`. The value is copied.
   *
   * @throws WorkflowError `VARIABLE_UNKNOWN` for one that is not declared, `VALUE_NOT_JSON` for a value
   * that JSON can't hold, and for a bad path.
   */
  set(path: (string | number)[], value: unknown, stepID: string | null): void {
    if (this.isOver) return;
    const { run } = this;
    const name = String(path[0]);
    if (!Object.hasOwn(run.state.variables, name)) throw undeclared(name);
    const write = { path, value: writable(value, name), seq: run.state.writeSeq + 1 };
    const change = run.variables.write(write);
    run.state.writeSeq = write.seq;
    this.written.variables.push(write);
    if (change) run.publish("var_changed", stepID, { name, ...change }, this.origin);
  }

  /** Publishes an event. */
  emit(type: RunEventType, stepID: string | null, payload: Record<string, unknown>): void {
    if (!this.isOver) this.run.publish(type, stepID, payload, this.origin);
  }

  /** The state of the run now, as programs show it. */
  snapshot(): WorkflowSnapshot {
    return snapshotOf(this.run);
  }

  /** The state that the committed steps make: what a run can go on from. A deep copy. */
  checkpoint(): Checkpoint {
    return this.#control.checkpoint();
  }

  /** Listens to every event from now on; the result ends that. */
  onEvent(listener: (event: RunEvent) => void): () => void {
    return this.#control.onEvent(listener);
  }

  /** Ends the run as cancelled. Without effect once it has ended. */
  abort(): void {
    this.#control.abort();
  }

  /** Answers the Pause that the run waits at. */
  resume(request: ResumeRequest): Promise<ResumeReply> {
    return this.#control.resume(request);
  }

  /**
   * Resolves when the run has ended, or waits at a Pause; after an answer it is another promise, for
   * what comes then. Rejects when the run has failed.
   */
  get done(): Promise<void> {
    return this.#control.done();
  }

  /** A context of the same run with locals of its own, which hide those of this one. */
  child(locals: Record<string, unknown>): ChildExecutionContext {
    return new ChildExecutionContext(this, this.#control, locals);
  }

  #system(): Record<string, unknown> {
    const { name, version } = this.run.workflow.document;
    return { runID: this.runID, workflowID: this.workflowID, workflow: name, version };
  }
}

/** The context of one step, one iteration or one branch: what it sets locally is seen in it alone. */
export class ChildExecutionContext extends ExecutionContext {
  readonly parent: ExecutionContext;
  readonly locals: Record<string, unknown>;

  constructor(parent: ExecutionContext, control: RunControl, locals: Record<string, unknown>) {
    super(parent.run, control);
    this.parent = parent;
    this.origin = parent.origin;
    this.locals = locals;
  }

  override local(name: string): unknown {
    return Object.hasOwn(this.locals, name) ? this.locals[name] : this.parent.local(name);
  }
}

const own = (record: Record<string, unknown>, name: string): unknown =>
  Object.hasOwn(record, name) ? record[name] : undefined;

const undeclared = (name: string) =>
  failure(
    "VARIABLE_UNKNOWN",
    `the workflow declares no variable ${JSON.stringify(name)}`,
    "declare it in registry.vars",
  );

/** The state of a run at a moment. `artifacts` are the paths of the files that it has written. */
export type WorkflowSnapshot = {
  runID: string;
  status: ExecutionStatus;
  currentStepID: string | null;
  elapsedMs: number;
  params: Record<string, unknown>;
  variables: Record<string, unknown>;
  localVars: Record<string, unknown>;
  artifacts: string[];
  paused: { nodeID: string; token: string } | null;
  eventSeq: number;
  version: string;
};

/** A deep copy of a run's state now, with what is not committed yet. */
function snapshotOf(run: Run): WorkflowSnapshot {
  const { state } = run;
  return structuredClone({
    runID: state.runID,
    status: run.status,
    currentStepID: run.currentStepID,
    elapsedMs: run.elapsed,
    params: state.params,
    variables: state.variables,
    localVars: state.localVars,
    artifacts: Object.keys(state.artifacts),
    paused: run.paused,
    eventSeq: state.eventSeq,
    version: run.workflow.document.version,
  });
}
