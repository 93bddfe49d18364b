import type { LLMAdapter } from "../adapter/adapter.ts";
import type { ExecutionStatus } from "../document/document.ts";
import type { Origin, RunEvent, RunEventType } from "../document/event.ts";
import type { StepDocument } from "../document/format.ts";
import { ExpressionEvaluator } from "../expression/expression.ts";
import type { Scope } from "../expression/parse.ts";
import { ownValue } from "../expression/value.ts";
import type { Checkpoint } from "../state/checkpoint.ts";
import { type RunState, writable } from "../state/state.ts";
import type { ResolvedTarget } from "../document/target.ts";
import { type ResumeReply, type ResumeRequest, type Run, Written } from "./run.ts";
import { undeclaredVariable } from "./errors.ts";

export type Handler = (context: ChildExecutionContext, step: StepDocument) => unknown;

/** The API of a run for programs and custom handlers. The step's commit includes values that its handler sets. */
export class ExecutionContext {
  readonly run: Run;
  readonly written = new Written();
  isMapped = false;
  /** True after the end of the step. The context then drops writes of the step's handler. */
  isOver = false;
  origin: Origin | null = null;
  /** The targets that the step's `out` has written: each as text from the document, and resolved. */
  readonly targets: [string, ResolvedTarget][] = [];
  readonly #evaluator: ExpressionEvaluator;

  constructor(run: Run) {
    this.run = run;
    this.#evaluator = new ExpressionEvaluator(this.scope);
  }

  get runID(): string {
    return this.run.state.runID;
  }

  get workflowID(): string {
    return this.runID;
  }

  get status(): ExecutionStatus {
    return this.run.status;
  }

  /** Ids of the finished steps, without repetitions, in the order of their first end. */
  get _completedSteps(): string[] {
    return [...this.run.state.completedSteps];
  }

  get llmAdapter(): LLMAdapter | undefined {
    return this.run.setup.adapters.llm;
  }

  /** Returns the value of a name in expressions: a param, `$var`, `_local` or `SYSVAR`. */
  readonly scope: Scope = (name) => {
    const { state, workflow } = this.run;
    if (name.startsWith("$")) return ownValue(state.variables, name);
    if (name.startsWith("_")) return this.local(name);
    if (name !== "SYSVAR") return ownValue(state.params, name);
    const { name: title, version } = workflow.document;
    return { runID: this.runID, workflowID: this.workflowID, workflow: title, version };
  };

  local(name: string): unknown {
    return ownValue(this.run.state.localVars, name);
  }

  /** Evaluates an expression or a literal in a step's field. @throws ExpressionError */
  evaluate(value: unknown): unknown {
    return this.#evaluator.evaluate(value);
  }

  /** Evaluates every value inside an object or an array, as a copy. @throws ExpressionError */
  resolve(value: unknown): unknown {
    return this.#evaluator.resolve(value);
  }

  /** Returns whether a condition is true. @throws ExpressionError */
  condition(value: unknown): boolean {
    return this.#evaluator.condition(value);
  }

  /**
   * Writes a copy of a value: `["$list", 0, "name"]` is `$list[0].name`.
   * @throws WorkflowError `VARIABLE_UNKNOWN`
   */
  set(path: (string | number)[], value: unknown, stepID: string | null): void {
    if (this.isOver) return;
    const { run } = this;
    const name = String(path[0]);
    if (!Object.hasOwn(run.state.variables, name)) throw undeclaredVariable(name);
    const write = { path, value: writable(value, name), seq: run.state.writeSeq + 1 };
    const change = run.variables.write(write);
    run.state.writeSeq = write.seq;
    this.written.variables.push(write);
    if (change) run.publish("var_changed", stepID, { name, ...change }, this.origin);
  }

  emit(type: RunEventType, stepID: string | null, payload: Record<string, unknown>): void {
    if (!this.isOver) this.run.publish(type, stepID, payload, this.origin);
  }

  /** Returns the current state of the run, including uncommitted changes, as a deep copy. */
  snapshot(): WorkflowSnapshot {
    const { run } = this;
    return structuredClone({
      ...valuesOf(run.state),
      status: run.status,
      currentStepID: run.currentStepID,
      elapsedMs: run.elapsed,
      paused: run.paused,
      eventSeq: run.state.eventSeq,
      version: run.workflow.document.version,
    });
  }

  /** Returns the state after the committed steps as a deep copy. A run can continue from it. */
  checkpoint(): Checkpoint {
    return this.run.setup.control.checkpoint();
  }

  /** Adds a listener for later events. Returns a function that removes the listener. */
  onEvent(listener: (event: RunEvent) => void): () => void {
    return this.run.setup.control.onEvent(listener);
  }

  /** Cancels the run. Has no effect after its end. */
  abort(): void {
    this.run.setup.control.abort();
  }

  /** Answers the run's open Pause. */
  resume(request: ResumeRequest): Promise<ResumeReply> {
    return this.run.setup.control.resume(request);
  }

  /** Resolves when the run ends or pauses; rejects when the run fails. See `RunControl`. */
  get done(): Promise<void> {
    return this.run.setup.control.done();
  }

  /** Returns a context of the same run with more locals, which hide this context's locals of the same name. */
  child(locals: Record<string, unknown>): ChildExecutionContext {
    return new ChildExecutionContext(this, locals);
  }
}

/** The context of one step, iteration or branch. Its locals are visible only in it. */
export class ChildExecutionContext extends ExecutionContext {
  readonly parent: ExecutionContext;
  readonly locals: Record<string, unknown>;

  constructor(parent: ExecutionContext, locals: Record<string, unknown>) {
    super(parent.run);
    this.parent = parent;
    this.origin = parent.origin;
    this.locals = locals;
  }

  override local(name: string): unknown {
    return Object.hasOwn(this.locals, name) ? this.locals[name] : this.parent.local(name);
  }
}

/** The state of a run at one time. `artifacts` are the paths of the written files. */
export type WorkflowSnapshot = ReturnType<typeof valuesOf> & {
  status: ExecutionStatus;
  currentStepID: string | null;
  elapsedMs: number;
  paused: { nodeID: string; token: string } | null;
  eventSeq: number;
  version: string;
};

/** Returns the values of a run's state for a snapshot. */
export const valuesOf = ({ runID, params, variables, localVars, artifacts }: RunState) => ({
  runID,
  params,
  variables,
  localVars,
  artifacts: Object.keys(artifacts),
});
