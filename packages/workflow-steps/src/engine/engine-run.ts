import { attemptIds, type Attempts } from "@uncaged/workflow";
import type { Adapters, FileAdapter, ToolAdapter, ToolRuntime } from "../adapter/adapter.ts";
import { ExecutionContext, type ResumeReply, type ResumeRequest } from "../context/context.ts";
import {
  type Answered,
  type EngineEvent,
  type Handler,
  type PauseRequest,
  Run,
} from "../context/run.ts";
import type { RunEvent } from "../document/event.ts";
import { failure } from "../document/document.ts";
import { drive } from "../interpreter/drive.ts";
import type { Checkpoint } from "../state/checkpoint-form.ts";
import { checkpointOf } from "../state/checkpoint.ts";
import { Fold } from "../state/fold.ts";
import { copyState, readWorkflow, type RunState, type Workflow } from "../state/state.ts";
import type { EngineOptions } from "./engine.ts";

// Milliseconds.
const longestBreath = 20;

/** How a run is started, beside its workflow and its state. */
type EngineRunOptions = Omit<EngineOptions, "customHandlers"> & {
  adapters: Adapters;
  handlers: Readonly<Record<string, Handler>>;
  resumedFrom?: string;
};

/** One run in this process: it drives the interpreter, calls the listeners and folds what is done. */
export class EngineRun {
  readonly context: ExecutionContext;
  readonly #run: Run;
  readonly #fold: Fold;
  readonly #options: EngineRunOptions;
  readonly #listeners = new Set<(event: RunEvent) => void>();
  readonly #abort = new AbortController();
  readonly #question: Question;
  #settled = settlement();

  constructor(workflow: Workflow, state: RunState, options: EngineRunOptions) {
    this.#options = options;
    this.#fold = new Fold(workflow, copyState(state), ({ workflow: path, document }) =>
      readWorkflow(document ?? (options.subflows?.[path] as Workflow["document"])),
    );
    this.#run = new Run(workflow, state, {
      adapters: { ...adaptersFor(options), ...options.adapters },
      env: options.env ?? {},
      errorStrategy: options.errorStrategy ?? "fail_fast",
      maxConcurrency: options.maxConcurrency ?? 0,
      handlers: options.handlers,
      subflows: options.subflows ?? {},
      clientRunToken: options.clientRunToken,
      prefix: "",
      path: [],
      attempts: attemptsHere(),
      depth: 0,
      workflowID: state.runID,
      wholeValues: false,
      now: Date.now,
    });
    if (options.onEvent) this.#listeners.add(options.onEvent);
    this.#question = new Question((reason) => this.#reject(reason));
    this.context = new ExecutionContext(this.#run, {
      checkpoint: () => this.#checkpoint(),
      onEvent: (listener) => this.#listen(listener),
      abort: () => this.#abort.abort(),
      resume: (request) => this.#resume(request),
      done: () => this.#settled.promise,
    });
    void this.#drive();
  }

  async #drive(): Promise<void> {
    // Who started it gets the context, and may listen, before the first event.
    await Promise.resolve();
    const { resumedFrom, signal: outer } = this.#options;
    const own = this.#abort.signal;
    const signal = outer ? AbortSignal.any([own, outer]) : own;
    const breathe = breather();
    const events = drive(this.context, { signal, resumedFrom });
    try {
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

  async #take(event: EngineEvent, signal: AbortSignal): Promise<Answered | undefined> {
    if (event.kind === "commit") this.#fold.apply(event.role, event.commit);
    // A listener to the question may answer it at once.
    const answer = event.kind === "wait" ? this.#ask(event.wait, signal) : undefined;
    if (event.event) this.#publish(event.event);
    if (event.kind === "commit") this.#passCheckpoint();
    return await answer;
  }

  async #ask(wait: PauseRequest, signal: AbortSignal): Promise<Answered | undefined> {
    const answered = this.#question.ask(wait, signal);
    const before = this.#settled;
    this.#settled = settlement();
    before.resolve();
    return await answered;
  }

  // While the question is open nothing is read from the scheduler; otherwise the event has its turn there.
  #reject(reason: string): void {
    const { currentStepID, status } = this.#run;
    if (status !== "running" && status !== "paused") return;
    const event = this.#run.eventOf("pause_rejected", currentStepID, { reason });
    if (this.#question.isOpen) this.#publish(event);
    else this.#run.scheduler.publish({ kind: "event", event });
  }

  async #resume(request: ResumeRequest): Promise<ResumeReply> {
    return this.#question.answer(request);
  }

  #listen(listener: (event: RunEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  #publish(event: RunEvent): void {
    // One that is added meanwhile is called from the next event on, one that is removed no more.
    for (const listener of [...this.#listeners]) {
      if (this.#listeners.has(listener)) quietly(() => listener(event));
    }
  }

  #passCheckpoint(): void {
    const { onCheckpoint } = this.#options;
    if (onCheckpoint) quietly(() => onCheckpoint(this.#checkpoint()));
  }

  #checkpoint(): Checkpoint {
    const { workflow, status, setup } = this.#run;
    return checkpointOf(this.#fold.state, {
      workflow,
      workflowID: setup.workflowID,
      status,
      now: setup.now(),
    });
  }
}

// Nothing is recorded: the ids separate the events of one attempt from those of another.
function attemptsHere(): Attempts {
  const nextId = attemptIds();
  return {
    open: ({ path = [] }) => ({ id: nextId(), path, run: (fn) => fn(), end: () => undefined }),
  };
}

// Steps that wait for nothing must not keep out timers, and with them who wants to abort the run.
function breather(): () => Promise<void> {
  let last = Date.now();
  return async () => {
    if (Date.now() - last < longestBreath) return;
    await new Promise((resolve) => setTimeout(resolve));
    last = Date.now();
  };
}

// A caller that listens must not be able to disturb the run.
function quietly(call: () => unknown): void {
  try {
    const result = call();
    if (result instanceof Promise) result.catch(() => undefined);
  } catch {
    return;
  }
}

function settlement(): PromiseWithResolvers<void> {
  const settled = Promise.withResolvers<void>();
  settled.promise.catch(() => undefined);
  return settled;
}

// What a timer can wait at once.
const longestTimer = 2 ** 31 - 1;

type Open = { token: string; settle: (answer: Answered | undefined) => void };

/** The question that a run waits with, and the answers that it has had. */
class Question {
  readonly #onRejected: (reason: string) => void;
  readonly #replies = new Map<string, ResumeReply>();
  readonly #used = new Set<string>();
  #open: Open | null = null;

  constructor(onRejected: (reason: string) => void) {
    this.#onRejected = onRejected;
  }

  get isOpen(): boolean {
    return this.#open !== null;
  }

  /** Waits for the answer; undefined when the run is cancelled before. */
  async ask(wait: PauseRequest, signal: AbortSignal): Promise<Answered | undefined> {
    const { promise, resolve } = Promise.withResolvers<Answered | undefined>();
    this.#open = { token: wait.token, settle: resolve };
    const onAbort = (): void => resolve(undefined);
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) onAbort();
    const stopTimer = this.#timer(wait, resolve);
    try {
      return await promise;
    } finally {
      this.#open = null;
      this.#used.add(wait.token);
      stopTimer();
      signal.removeEventListener("abort", onAbort);
    }
  }

  /** Gives the answer, when the token is that of the question. */
  answer({ token, payload, requestId }: ResumeRequest): ResumeReply {
    const before = requestId === undefined ? undefined : this.#replies.get(requestId);
    if (before) return before;
    const reason = this.#refusal(token);
    if (reason !== null) {
      this.#onRejected(reason);
      return { ok: false, reason };
    }
    const reply: ResumeReply = { ok: true };
    if (requestId !== undefined) this.#replies.set(requestId, reply);
    const open = this.#open;
    this.#open = null;
    this.#used.add(token);
    open?.settle({ payload: payload ?? null, requestId, timedOut: false });
    return reply;
  }

  #refusal(token: string): string | null {
    if (this.#used.has(token)) return "the token was used before";
    if (!this.#open) return "the run is not paused";
    return this.#open.token === token ? null : "the token is not that of the pause";
  }

  #timer({ expiresAt }: PauseRequest, settle: Open["settle"]): () => void {
    if (expiresAt === undefined) return () => undefined;
    let timer: ReturnType<typeof setTimeout>;
    const tick = (): void => {
      const left = expiresAt - Date.now();
      if (left <= 0) settle({ payload: null, timedOut: true });
      else timer = setTimeout(tick, Math.min(left, longestTimer));
    };
    tick();
    return () => clearTimeout(timer);
  }
}

/** A tool of the caller's own: an envelope with `error` is a failure, its `result` the result. */
type SimpleTool = { execute(input: unknown, runtime: ToolRuntime): unknown };

/** Tools by name: a record, or something to look them up in. */
export type Tools =
  | Readonly<Record<string, SimpleTool>>
  | { get(name: string): SimpleTool | undefined };

/** The adapters that `cwd` and `tools` stand for. */
function adaptersFor({ cwd, tools }: { cwd?: string; tools?: Tools }): Adapters {
  return {
    ...(cwd !== undefined && { file: filesUnder(cwd) }),
    ...(tools && { tool: toolsOf(tools) }),
  };
}

function toolsOf(tools: Tools): ToolAdapter {
  return {
    async execute(name, input, runtime) {
      const tool = lookUp(tools, name);
      if (tool) return await tool.execute(input, runtime);
      throw failure(
        "TOOL_UNKNOWN",
        `there is no tool ${JSON.stringify(name)}`,
        "give it in tools, or check the step's tool",
      );
    },
  };
}

function lookUp(tools: Tools, name: string): SimpleTool | undefined {
  if (typeof tools.get === "function") return tools.get(name);
  return Object.hasOwn(tools, name) ? (tools as Record<string, SimpleTool>)[name] : undefined;
}

// Loaded when a file is first touched: an engine without files loads nothing of Node.
function filesUnder(cwd: string): FileAdapter {
  let loaded: Promise<FileAdapter> | undefined;
  const files = (): Promise<FileAdapter> =>
    (loaded ??= import("../adapters/file.ts").then(({ fileAdapter }) => fileAdapter({ cwd })));
  return {
    read: async (path) => await (await files()).read(path),
    write: async (path, data, mode) => await (await files()).write(path, data, mode),
    exists: async (path) => await (await files()).exists(path),
    remove: async (path) => await (await files()).remove(path),
    list: async (glob) => await (await files()).list(glob),
    unzip: async (path) => (await (await files()).unzip?.(path)) ?? [],
  };
}
