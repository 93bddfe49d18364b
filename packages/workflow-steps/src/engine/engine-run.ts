import type { Adapters } from "../adapter/adapter.ts";
import { ExecutionContext, type ResumeReply, type ResumeRequest } from "../context/context.ts";
import type { Answered, Happening, PauseRequest } from "../context/feed.ts";
import { type Handler, Run } from "../context/run.ts";
import type { RunEvent } from "../event/event.ts";
import { drive } from "../interpreter/drive.ts";
import { type Checkpoint, checkpointOf } from "../state/checkpoint.ts";
import { Fold } from "../state/fold.ts";
import { copyState, type RunState } from "../state/state.ts";
import { readWorkflow, type Workflow } from "../state/workflow.ts";
import { adaptersFor } from "./adapters.ts";
import type { EngineOptions } from "./engine.ts";
import { Question } from "./question.ts";

// Milliseconds.
const longestBreath = 20;

/** How a run is started, beside its workflow and its state. */
export type EngineRunOptions = Omit<EngineOptions, "customHandlers"> & {
  adapters: Adapters;
  handlers: Readonly<Record<string, Handler>>;
  resumedFrom?: string;
};

/** One run in this process: it drives the interpreter, tells the listeners and folds what is done. */
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
    this.#fold = new Fold(copyState(state), ({ workflow: path, document }) =>
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
      place: "",
      depth: 0,
      workflowID: state.runID,
      tellsWhole: false,
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
    const happenings = drive(this.context, { signal, resumedFrom });
    try {
      let answer: Answered | undefined;
      for (;;) {
        const { done, value } = await happenings.next(answer);
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

  async #take(happening: Happening, signal: AbortSignal): Promise<Answered | undefined> {
    if (happening.kind === "commit") this.#fold.apply(happening.role, happening.commit);
    // Who hears the question may answer it at once.
    const answer = happening.kind === "wait" ? this.#ask(happening.wait, signal) : undefined;
    if (happening.event) this.#publish(happening.event);
    if (happening.kind === "commit") this.#tellCheckpoint();
    return await answer;
  }

  async #ask(wait: PauseRequest, signal: AbortSignal): Promise<Answered | undefined> {
    const answered = this.#question.ask(wait, signal);
    const before = this.#settled;
    this.#settled = settlement();
    before.resolve();
    return await answered;
  }

  // While the question is open nothing is taken out of the feed; otherwise the event has its place there.
  #reject(reason: string): void {
    const { currentStepID, status } = this.#run;
    if (status !== "running" && status !== "paused") return;
    const event = this.#run.eventOf("pause_rejected", currentStepID, { reason });
    if (this.#question.isOpen) this.#publish(event);
    else this.#run.feed.tell(event);
  }

  async #resume(request: ResumeRequest): Promise<ResumeReply> {
    return this.#question.answer(request);
  }

  #listen(listener: (event: RunEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  #publish(event: RunEvent): void {
    // Who is added meanwhile hears from the next event on, who is removed nothing more.
    for (const listener of [...this.#listeners]) {
      if (this.#listeners.has(listener)) quietly(() => listener(event));
    }
  }

  #tellCheckpoint(): void {
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
