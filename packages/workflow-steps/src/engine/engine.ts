import { attemptIds, type Attempts } from "@uncaged/workflow/interpreter";
import type { Adapters, ToolAdapter, ToolRuntime } from "../adapter/adapter.ts";
import { validate } from "../check/check.ts";
import { ExecutionContext, type Handler } from "../context/context.ts";
import {
  type Deferred,
  deferred,
  type EngineEvent,
  type PauseRequest,
  type ResumeReply,
  type ResumeRequest,
  Run,
  type RunOptions,
} from "../context/run.ts";
import type { RunEvent } from "../document/event.ts";
import type { StepDocument, WorkflowDocument } from "../document/format.ts";
import { drive } from "../interpreter/drive.ts";
import { invalidWorkflow } from "../interpreter/errors.ts";
import { type Checkpoint, type Resumable, restoredState } from "../state/checkpoint.ts";
import { Fold } from "../state/fold.ts";
import {
  type Answered,
  copyState,
  newState,
  readWorkflow,
  type RunState,
  type Workflow,
} from "../state/state.ts";
import { unknownTool } from "./errors.ts";

/**
 * Runs a custom step. Its return value becomes `_result`. The engine then maps `out`, unless the handler already mapped
 * it.
 */
export type CustomHandler = (
  engine: Engine,
  context: ExecutionContext,
  step: StepDocument,
) => unknown;

/** Options of an {@link Engine}. */
export type EngineOptions = RunOptions & {
  /** Receives every event. The engine ignores errors of this function. */
  onEvent?: (event: RunEvent) => void;
  /** Receives a checkpoint after each commit. The engine ignores errors of this function. */
  onCheckpoint?: (checkpoint: Checkpoint) => void;
  /** Handlers by the prefix of step ids. */
  customHandlers?: Record<string, CustomHandler>;
  /** Cancels the run when it is aborted. */
  signal?: AbortSignal;
  /** The root folder for the steps' files. Ignored with a `file` adapter. */
  cwd?: string;
  /** The tools by name. Ignored with a `tool` adapter. */
  tools?: Tools;
  /** Documents of child workflows, by the path that a step names. */
  subflows?: Record<string, WorkflowDocument>;
};

/**
 * Runs a step workflow in this process. Stores nothing: the caller keeps the checkpoints.
 *
 *     const engine = new Engine(workflow, { onEvent: console.log });
 *     const context = await engine.execute({ project: "MyApp" }, { llm, file });
 *     console.log(context.snapshot().variables);
 */
export class Engine {
  readonly workflow: WorkflowDocument;
  readonly #options: EngineOptions;
  #read: Workflow | null = null;

  /** @param workflow The document; the engine copies it. */
  constructor(workflow: WorkflowDocument, options: EngineOptions = {}) {
    this.workflow = structuredClone(workflow);
    this.#options = options;
  }

  /** Returns the messages of all errors in the workflow. */
  validate(): string[] {
    return this.lint().errors;
  }

  /** Returns the errors and warnings of the workflow. */
  lint(): { errors: string[]; warnings: string[] } {
    const customTypes = Object.keys(this.#options.customHandlers ?? {});
    const violations = validate(this.workflow, { customTypes });
    const of = (wanted: string): string[] =>
      violations.flatMap(({ severity, message }) => (severity === wanted ? message : []));
    return { errors: of("error"), warnings: of("warning") };
  }

  /**
   * Runs the workflow. Resolves with the context when the run is completed, stopped, cancelled or paused.
   *
   * @throws WorkflowError `WORKFLOW_INVALID` and `PARAMS_INVALID`, before any event; RunError and
   * ParallelError after `workflow_failed`, with the context as `ctx`.
   */
  async execute(params?: Record<string, unknown>, adapters?: Adapters): Promise<ExecutionContext> {
    const context = this.start(params, adapters);
    await context.done;
    return context;
  }

  /** Starts the workflow and returns the context at once. The context's `done` settles as `execute` does. */
  start(params?: Record<string, unknown>, adapters?: Adapters): ExecutionContext {
    const workflow = this.#valid();
    const state = newState(workflow, newRunID(), workflow.registry.startParams(params));
    return this.#run(workflow, state, adapters);
  }

  /**
   * Continues from a checkpoint, or from an object with at least `currentStepID` and the values that this step needs.
   *
   * @throws WorkflowError `CHECKPOINT_INVALID`, `NO_SUCH_STEP`, `STEP_AMBIGUOUS`, `OVERRIDE_UNKNOWN` before any event,
   *   and as {@link Engine.execute}.
   */
  async executeFrom(
    checkpoint: Resumable,
    adapters?: Adapters,
    overrides?: Record<string, unknown>,
  ): Promise<ExecutionContext> {
    const workflow = this.#valid();
    const state = restoredState(workflow, checkpoint, newRunID(), { overrides });
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
    const handlers: Record<string, Handler> = {};
    for (const [prefix, handler] of Object.entries(customHandlers)) {
      handlers[prefix] = (context, step) => handler(this, context, step);
    }
    const started = { ...options, adapters, handlers, resumedFrom };
    return new EngineRun(workflow, state, started).context;
  }

  #valid(): Workflow {
    if (this.#read) return this.#read;
    const errors = this.validate();
    const hint = "fix the workflow; validate() lists all errors";
    if (errors.length > 0) throw invalidWorkflow(errors, hint);
    const { subflows = {} } = this.#options;
    return (this.#read = readWorkflow({ document: this.workflow, subflows }));
  }
}

let lastRunID = 0;

// Run ids are unique in this process.
function newRunID(): string {
  lastRunID = Math.max(Date.now(), lastRunID + 1);
  return `wf_${lastRunID}`;
}

type Started = Omit<EngineOptions, "customHandlers"> & {
  adapters: Adapters;
  handlers: Readonly<Record<string, Handler>>;
  resumedFrom?: string;
};

/** One run in this process. Drives the interpreter, calls the listeners and folds the commits. */
class EngineRun {
  readonly context: ExecutionContext;
  readonly #run: Run;
  readonly #fold: Fold;
  readonly #options: Started;
  readonly #listeners = new Set<(event: RunEvent) => void>();
  readonly #abort = new AbortController();
  #open: { token: string; settle: (answer: Answered | undefined) => void } | null = null;
  readonly #usedTokens = new Set<string>();
  readonly #replies = new Map<string, ResumeReply>();
  #settled = settlement();

  constructor(workflow: Workflow, state: RunState, options: Started) {
    const { onEvent, tools } = options;
    this.#options = options;
    this.#fold = new Fold(workflow, copyState(state));
    this.#run = new Run(workflow, state, {
      ...options,
      adapters: { ...(tools && { tool: toolsOf(tools) }), ...options.adapters },
      attempts: attemptsHere(),
      control: {
        checkpoint: () => this.#run.checkpointOf(this.#fold.state),
        onEvent: (listener) => {
          this.#listeners.add(listener);
          return () => void this.#listeners.delete(listener);
        },
        abort: () => this.#abort.abort(),
        resume: async (request) => this.#resume(request),
        done: () => this.#settled.promise,
      },
    });
    if (onEvent) this.#listeners.add(onEvent);
    this.context = new ExecutionContext(this.#run);
    void this.#drive();
  }

  async #drive(): Promise<void> {
    const { cwd, handlers, resumedFrom, signal: outer } = this.#options;
    const { adapters } = this.#run.setup;
    const own = this.#abort.signal;
    const signal = outer ? AbortSignal.any([own, outer]) : own;
    const breathe = breather();
    try {
      // The caller of `start` can add listeners before the first event.
      await Promise.resolve();
      // Load the module on demand, so that an engine without files runs outside Node and Bun.
      if (cwd !== undefined && !adapters.file) {
        const { fileAdapter } = await import("../adapters/file.ts");
        adapters.file = fileAdapter({ cwd });
      }
      const events = drive(this.context, { signal, resumedFrom, handlers });
      let answer: Answered | undefined;
      for (;;) {
        const { done, value } = await events.next(answer);
        if (done) break;
        answer = await this.#take(value, signal);
        await breathe();
      }
      this.#settled.resolve();
    } catch (error) {
      if (typeof error === "object" && error !== null) {
        Object.defineProperty(error, "ctx", { value: this.context, configurable: true });
      }
      this.#settled.reject(error);
    }
  }

  async #take(item: EngineEvent, signal: AbortSignal): Promise<Answered | undefined> {
    if (item.kind === "commit") this.#fold.apply(item.role, item.commit);
    // A listener may answer the question at once.
    const answer = item.kind === "wait" ? this.#ask(item.wait, signal) : undefined;
    if (item.event) this.#publish(item.event);
    const { onCheckpoint } = this.#options;
    if (item.kind === "commit" && onCheckpoint) {
      quietly(() => onCheckpoint(this.context.checkpoint()));
    }
    return await answer;
  }

  /** Waits for the answer; undefined if the run is cancelled first. */
  async #ask(
    { token, expiresAt }: PauseRequest,
    signal: AbortSignal,
  ): Promise<Answered | undefined> {
    const { promise, resolve } = deferred<Answered | undefined>();
    this.#open = { token, settle: resolve };
    const onAbort = (): void => resolve(undefined);
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) onAbort();
    const stopTimer = timer(expiresAt, () => resolve({ payload: null, timedOut: true }));
    const before = this.#settled;
    this.#settled = settlement();
    before.resolve();
    try {
      return await promise;
    } finally {
      this.#open = null;
      this.#usedTokens.add(token);
      stopTimer();
      signal.removeEventListener("abort", onAbort);
    }
  }

  #resume({ token, payload = null, requestId }: ResumeRequest): ResumeReply {
    const before = requestId === undefined ? undefined : this.#replies.get(requestId);
    if (before) return before;
    const reason = this.#refusal(token);
    if (reason !== null) {
      this.#publishRejected(reason);
      return { ok: false, reason };
    }
    const reply: ResumeReply = { ok: true };
    if (requestId !== undefined) this.#replies.set(requestId, reply);
    this.#open?.settle({ payload, requestId, timedOut: false });
    this.#open = null;
    this.#usedTokens.add(token);
    return reply;
  }

  #refusal(token: string): string | null {
    if (this.#usedTokens.has(token)) return "the token was already used";
    if (!this.#open) return "the run is not paused";
    return this.#open.token === token ? null : "the token does not match the pause";
  }

  // While the question is open, nothing reads the scheduler, so this function publishes the event directly. At other
  // times the scheduler publishes the event in order.
  #publishRejected(reason: string): void {
    const { currentStepID, status } = this.#run;
    if (status !== "running" && status !== "paused") return;
    if (!this.#open) this.#run.publish("pause_rejected", currentStepID, { reason });
    else this.#publish(this.#run.eventOf("pause_rejected", currentStepID, { reason }));
  }

  #publish(event: RunEvent): void {
    // Listeners added during a call receive the next event; removed listeners are skipped.
    for (const listener of [...this.#listeners]) {
      if (this.#listeners.has(listener)) quietly(() => listener(event));
    }
  }
}

// This engine does not record attempts. Their ids only group events.
function attemptsHere(): Attempts {
  const nextId = attemptIds();
  return {
    open: ({ path = [] }) => ({ id: nextId(), path, run: (fn) => fn(), end: () => undefined }),
  };
}

// The longest time in milliseconds for which steps run without letting timers fire.
const longestBreath = 20;

// Steps that never wait must still let timers fire, so that a caller can abort the run.
function breather(): () => Promise<void> {
  let last = Date.now();
  return async () => {
    if (Date.now() - last < longestBreath) return;
    await new Promise((resolve) => setTimeout(resolve));
    last = Date.now();
  };
}

// Errors of listeners must not affect the run.
function quietly(call: () => unknown): void {
  try {
    const result = call();
    if (result instanceof Promise) result.catch(() => undefined);
  } catch {
    return;
  }
}

function settlement(): Deferred {
  const settled = deferred();
  settled.promise.catch(() => undefined);
  return settled;
}

// The longest delay that platform timers support, in milliseconds.
const longestTimer = 2 ** 31 - 1;

/** Calls a function at a time, unless the time is undefined. Returns a function that cancels the call. */
function timer(moment: number | undefined, call: () => void): () => void {
  if (moment === undefined) return () => undefined;
  let current: ReturnType<typeof setTimeout>;
  const tick = (): void => {
    const left = moment - Date.now();
    if (left <= 0) call();
    else current = setTimeout(tick, Math.min(left, longestTimer));
  };
  tick();
  return () => clearTimeout(current);
}

/** A tool of the caller. A returned object with `error` is a failure, and its `result` is the result. */
type SimpleTool = { execute(input: unknown, runtime: ToolRuntime): unknown };

/** Tools by name, as a record or an object with `get`. */
type Tools = Readonly<Record<string, SimpleTool>> | { get(name: string): SimpleTool | undefined };

const toolsOf = (tools: Tools): ToolAdapter => ({
  async execute(name, input, runtime) {
    const own = Object.hasOwn(tools, name)
      ? (tools as Record<string, SimpleTool>)[name]
      : undefined;
    const tool = typeof tools.get === "function" ? tools.get(name) : own;
    if (tool) return await tool.execute(input, runtime);
    throw unknownTool(name);
  },
});
