import type { Adapters } from "../adapter/adapter.ts";
import { validate } from "../check/check.ts";
import type { ExecutionContext } from "../context/context.ts";
import type { StepDocument, WorkflowDocument } from "../document/format.ts";
import { invalidWorkflow } from "../interpreter/subflow.ts";
import { type Resumable, restoredState } from "../state/checkpoint.ts";
import { newState, readWorkflow, type RunState, type Workflow } from "../state/state.ts";
import { EngineRun, type EngineRunOptions } from "./engine-run.ts";

/**
 * Carries out steps of a type of the caller's own. Its value is `_result`, and the step's `out` is
 * mapped afterwards unless it did that itself (`applyOutputMapping`).
 */
export type CustomHandler = (
  engine: Engine,
  context: ExecutionContext,
  step: StepDocument,
) => unknown;

/** How an engine runs its workflow. */
export type EngineOptions = EngineRunOptions & {
  /** By the prefix of the steps' ids. */
  customHandlers?: Record<string, CustomHandler>;
};

/**
 * Runs a step workflow in this process: events, checkpoints, and going on from any of them. Nothing is
 * stored; a program that wants a run to survive keeps the checkpoints, or runs it as a thread.
 *
 *     const engine = new Engine(workflow, { onEvent: console.log });
 *     const context = await engine.execute({ project: "MyApp" }, { llm, file });
 *     console.log(context.snapshot().variables);
 */
export class Engine {
  readonly workflow: WorkflowDocument;
  readonly #options: EngineOptions;
  #read: Workflow | null = null;

  /** @param workflow It is copied: what is done to it later changes nothing. */
  constructor(workflow: WorkflowDocument, options: EngineOptions = {}) {
    this.workflow = structuredClone(workflow);
    this.#options = options;
  }

  /** What is wrong with the workflow, a message a violation; empty for a valid one. */
  validate(): string[] {
    return this.lint().errors;
  }

  /** What is wrong with the workflow, and what is doubtful. */
  lint(): { errors: string[]; warnings: string[] } {
    const customTypes = Object.keys(this.#options.customHandlers ?? {});
    const violations = validate(this.workflow, { customTypes });
    const of = (severity: string): string[] =>
      violations
        .filter((violation) => violation.severity === severity)
        .map(({ message }) => message);
    return { errors: of("error"), warnings: of("warning") };
  }

  /**
   * Runs the workflow. Resolves with the context when it is completed, stopped, cancelled or paused.
   *
   * @throws WorkflowError `WORKFLOW_INVALID` and `PARAMS_INVALID`, before any event; RunError and
   * ParallelError after `workflow_failed`, with the context as `ctx`.
   */
  async execute(params?: Record<string, unknown>, adapters?: Adapters): Promise<ExecutionContext> {
    const context = this.start(params, adapters);
    await context.done;
    return context;
  }

  /**
   * Runs the workflow and gives the context at once; its `done` settles as `execute` does.
   *
   * @throws WorkflowError as {@link Engine.execute}, before any event.
   */
  start(params?: Record<string, unknown>, adapters?: Adapters): ExecutionContext {
    const workflow = this.#valid();
    const runID = newRunID(Date.now());
    const state = newState(workflow, runID, workflow.registry.startParams(params));
    return this.#run(workflow, state, adapters);
  }

  /**
   * Goes on from a checkpoint, or from an object with no more than `currentStepID` and what the step
   * needs. Steps before it are not run again. `overrides` are new values of `$variables`, `_locals` and
   * params.
   *
   * @throws WorkflowError `CHECKPOINT_INVALID`, `NO_SUCH_STEP`, `STEP_AMBIGUOUS`, `OVERRIDE_UNKNOWN`
   * before any event, and as {@link Engine.execute}.
   */
  async executeFrom(
    checkpoint: Resumable,
    adapters?: Adapters,
    overrides?: Record<string, unknown>,
  ): Promise<ExecutionContext> {
    const workflow = this.#valid();
    const runIDFor = (workflowID = newRunID(Date.now())): string => workflowID;
    const state = restoredState(workflow, checkpoint, { runIDFor, overrides });
    const context = this.#run(workflow, state, adapters, checkpoint.currentStepID);
    await context.done;
    return context;
  }

  #run(
    workflow: Workflow,
    state: RunState,
    adapters: Adapters = {},
    resumedFrom?: string,
  ): ExecutionContext {
    const { customHandlers = {}, ...options } = this.#options;
    const handlers = Object.fromEntries(
      Object.entries(customHandlers).map(([prefix, handler]) => [
        prefix,
        (context: ExecutionContext, step: StepDocument) => handler(this, context, step),
      ]),
    );
    const run = new EngineRun(workflow, state, { ...options, adapters, handlers, resumedFrom });
    return run.context;
  }

  #valid(): Workflow {
    if (this.#read) return this.#read;
    const errors = this.validate();
    const hint = "fix the workflow; validate() lists all that is wrong";
    if (errors.length > 0) throw invalidWorkflow(errors, hint);
    const { subflows = {} } = this.#options;
    return (this.#read = readWorkflow({ document: this.workflow, subflows }));
  }
}

let last = 0;

/** An id for a run without a thread, `wf_<ms>`: never the same twice in a process. */
function newRunID(now: number): string {
  last = Math.max(now, last + 1);
  return `wf_${last}`;
}
