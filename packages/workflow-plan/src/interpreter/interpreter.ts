import {
  type Attempts,
  noAnswer,
  type OpenAttempt,
  openAttempt,
  Scheduler,
} from "@uncaged/workflow/interpreter";
import { INPUT, type Pause, type RoleOutput, type ThreadContext, WAIT } from "@uncaged/workflow";
import {
  openEnvironment,
  type StepAgent,
  type StepEnvironment,
  type Subtask,
} from "../agent/agent.ts";
import type { FailurePolicy, PlanStep } from "../plan/plan.ts";
import { resolved } from "../reference/reference.ts";
import { answerSchema, type FailureQuestion, type StepRecord } from "../state/record.ts";
import type { PlanState, StepState } from "../state/state.ts";
import { subtaskOf } from "../state/subtask.ts";
import { cancelled, messageOf, retryDelay } from "./failure.ts";
import { promptOf } from "./prompt.ts";
import { Timer } from "./timer.ts";
import { outOfRounds, stuck, tooManyNotices } from "./errors.ts";

/** The dependencies of a run. */
export type RunSurroundings = {
  thread: ThreadContext;
  agent: StepAgent;
  /**
   * Returns the environment of an attempt.
   * @throws if the environment is missing: then the attempt has failed.
   */
  environment: (step: PlanStep) => Promise<StepEnvironment>;
  attempts?: Attempts;
  pause?: Pause;
  policy: FailurePolicy;
  triggerData: string | null;
  /** The maximum number of concurrent agents. */
  maxParallelSteps: number;
  /** The timeouts of an agent and of a question, in milliseconds. */
  timeoutMs: number;
  answerMs: number | null;
  maxRounds: number;
};

/** Minimum wait, in milliseconds, that becomes a sleep of the thread, which does not need a process. */
const longDelayMs = 10_000;
const mostNotices = 100;
const interruptedTwice = "the attempt was interrupted twice";

/**
 * Drives a run from its state to its end: starts the ready steps, commits the events of steps one record at a time, and
 * asks the user when nothing is in flight. All decisions depend only on the state.
 */
export class Interpreter {
  readonly #state: PlanState;
  readonly #around: RunSurroundings;
  readonly #scheduler = new Scheduler<RoleOutput, RoleOutput>();
  readonly #timer = new Timer(() => this.#advance());
  /** The steps in flight, and the controllers that abort their agents. */
  readonly #underway = new Map<string, AbortController>();
  #rounds: number;
  #agents = 0;
  #notices = 0;
  #isWaiting = false;
  readonly #dropped = new WeakSet<RoleOutput>();
  #failure: { error: unknown } | null = null;

  constructor(state: PlanState, rounds: number, around: RunSurroundings) {
    this.#state = state;
    this.#rounds = rounds;
    this.#around = around;
  }

  /** Yields the records to commit. The caller passes the answer to a `__wait__` to `next()`. */
  async *items(): AsyncGenerator<RoleOutput, void, RoleOutput | undefined> {
    const { signal } = this.#around.thread;
    const onAbort = (): void => this.#abort(signal?.reason);
    signal?.addEventListener("abort", onAbort, { once: true });
    try {
      this.#advance();
      yield* this.#committed();
    } finally {
      signal?.removeEventListener("abort", onAbort);
      this.#timer.stop();
      this.#abort(new Error("the run is over"));
    }
  }

  /** Yields the records to commit. Applies each record when it is durable, before it reads the next record. */
  async *#committed(): AsyncGenerator<RoleOutput, void, RoleOutput | undefined> {
    const items = this.#scheduler.items();
    let answer: RoleOutput | undefined;
    for (;;) {
      const { done, value: output } = await items.next(answer);
      if (done) return;
      answer = undefined;
      if (this.#isLate(output)) {
        this.#dropped.add(output);
        continue;
      }
      answer = yield output;
      for (const one of [output, answer]) if (one) this.#take(one);
    }
  }

  #take(output: RoleOutput): void {
    this.#rounds += 1;
    this.#state.apply(output);
  }

  /** Tells whether a record starts a step after a failure that stops or suspends the start of steps. */
  #isLate({ meta, role }: RoleOutput): boolean {
    if (meta.event !== "started") return false;
    if (this.#around.pause?.isWanted()) return true;
    const { question, stoppedBy } = this.#state;
    return (
      stoppedBy !== null || (question !== null && this.#state.find(role)?.status === "pending")
    );
  }

  #abort(reason: unknown): void {
    for (const abort of this.#underway.values()) abort.abort(reason);
  }

  /** Starts and records everything that is possible now. Called after each change of the state. */
  #advance(): void {
    const { signal } = this.#around.thread;
    if (signal?.aborted) this.#failure ??= { error: signal.reason };
    if (this.#failure) return this.#endIfIdle();
    const state = this.#state;
    for (const { because, state: one } of state.skippable) {
      this.#begin(one, () =>
        this.#commitRecord(one, `skipped: ${because}`, { event: "skipped", because }),
      );
    }
    if (state.stoppedBy !== null) this.#cancel();
    else this.#start();
    this.#endIfIdle();
  }

  /** Ends the work in flight: aborts the agents, and cancels the next attempts of waiting steps. */
  #cancel(): void {
    this.#timer.stop();
    this.#abort(cancelled);
    for (const one of this.#state.begun) {
      this.#begin(one, () => this.#commitFailed(one, cancelled.message, { isCancelled: true }));
    }
  }

  #start(): void {
    const { maxParallelSteps, pause } = this.#around;
    if (pause?.isWanted()) return;
    const now = Date.now();
    const due = this.#state.begun.filter(({ retryAt }) => retryAt === null || retryAt <= now);
    for (const one of [...due, ...this.#state.ready]) {
      if (this.#underway.has(one.step.id)) continue;
      if (this.#agents >= maxParallelSteps) return;
      this.#agents += 1;
      this.#begin(one, (abort) => this.#attempt(one, abort).finally(() => (this.#agents -= 1)));
    }
    const waiting = this.#waiting();
    if (waiting !== null && !this.#maySleep(waiting)) this.#timer.set(waiting);
  }

  /** Returns the time of the earliest next attempt; null if no attempt follows. */
  #waiting(): number | null {
    const times = this.#state.begun
      .filter(({ step }) => !this.#underway.has(step.id))
      .flatMap(({ retryAt }) => retryAt ?? []);
    return times.length === 0 ? null : Math.min(...times);
  }

  #maySleep = (until: number): boolean =>
    this.#underway.size === 0 && until - Date.now() >= longDelayMs;

  #begin({ step }: StepState, work: (abort: AbortController) => Promise<unknown>): void {
    if (this.#underway.has(step.id)) return;
    // In its last round the thread would end as if it were complete.
    if (this.#rounds + 2 * this.#underway.size + 2 >= this.#around.maxRounds) {
      this.#failure ??= { error: outOfRounds(this.#around.maxRounds) };
      return;
    }
    const abort = new AbortController();
    this.#underway.set(step.id, abort);
    void work(abort)
      .catch((error: unknown) => (this.#failure ??= { error }))
      .finally(() => {
        this.#underway.delete(step.id);
        this.#advance();
      });
  }

  /** Acts when nothing is in flight: ends the run, asks the user, or sleeps until the next attempt. */
  #endIfIdle(): void {
    if (this.#underway.size > 0) return;
    const { isDone, question, steps } = this.#state;
    if (this.#failure || (isDone && question === null)) {
      return this.#scheduler.close(this.#failure ?? undefined);
    }
    const { pause } = this.#around;
    const until = this.#waiting();
    if (pause?.isWanted()) this.#waitUntil(pause.over());
    else if (until !== null) {
      if (this.#maySleep(until)) this.#sleep(until);
    } else if (question) this.#ask(question);
    else {
      const pending = steps.filter(({ status }) => status === "pending");
      this.#scheduler.close({ error: stuck(pending.map(({ step }) => step.id)) });
    }
  }

  #ask(state: StepState): void {
    const { answerMs } = this.#around;
    const { attempt, error, step } = state;
    const meta: FailureQuestion = {
      ...{ for: "step_failure", stepId: step.id, error: error ?? "" },
      ...{ schema: answerSchema, token: `${step.id}#${attempt}`, onTimeout: "abort" },
      ...(answerMs !== null && { expiresAt: Date.now() + answerMs }),
    };
    const content = `Step ${step.id} failed: ${error ?? ""}. Retry it, skip it and its dependents, or abort the run?`;
    this.#waitFor({ role: WAIT, content, meta });
  }

  #sleep(until: number): void {
    const content = `sleeping until ${new Date(until).toISOString()}, when the next attempt begins`;
    this.#waitFor({ role: WAIT, content, meta: { for: "retry", sleep: true, expiresAt: until } });
  }

  #waitFor(wait: RoleOutput): void {
    if (this.#isWaiting) return;
    const answered = this.#scheduler.ask(wait).then((answer) => {
      if (answer.role !== INPUT) throw noAnswer(`the plan waits for ${String(wait.meta.for)}`);
    });
    this.#waitUntil(answered);
  }

  /** Waits until a promise settles. */
  #waitUntil(over: Promise<void>): void {
    if (this.#isWaiting) return;
    this.#isWaiting = true;
    void over
      .then(() => (this.#isWaiting = false))
      .catch((error: unknown) => (this.#failure ??= { error }))
      .finally(() => this.#advance());
  }

  /**
   * Commits a record. Resolves when the state includes the record. Returns false, without a commit, for a record that is
   * too late.
   */
  async #commit(output: RoleOutput): Promise<boolean> {
    await this.#scheduler.commit(output);
    return !this.#dropped.has(output);
  }

  #commitRecord(
    { step }: StepState,
    content: string,
    record: StepRecord,
    attempt?: string,
  ): Promise<boolean> {
    const output = { role: step.id, content, meta: { ...record } };
    return this.#commit(attempt === undefined ? output : { ...output, attempt });
  }

  /** Runs one attempt, from its `started` record to its end. */
  async #attempt(state: StepState, abort: AbortController): Promise<void> {
    const isAgain = state.status === "running" && state.retryAt === null;
    if (isAgain && state.starts >= 2) return await this.#commitFailed(state, interruptedTwice, {});
    const attempt = isAgain ? state.attempt : state.attempt + 1;
    const { session: resume, step } = state;
    const inputs = resolved(step.inputs, {
      outputOf: (id) => this.#state.find(id)?.output ?? null,
      triggerData: this.#around.triggerData,
    });
    const prepared = await this.#prepared(step);
    const environment = "error" in prepared ? unavailable : prepared;
    const sessionId = crypto.randomUUID();
    const started: StepRecord = {
      ...{ event: "started", attempt, inputs: environment.hide(inputs) },
      ...environment.sandbox,
      sdkSessionId: sessionId,
    };
    if (!(await this.#commitRecord(state, `attempt ${attempt}`, started))) return;
    if ("error" in prepared) return await this.#commitFailed(state, messageOf(prepared.error), {});
    if (abort.signal.aborted)
      return await this.#commitFailed(state, cancelled.message, { isCancelled: true });
    await this.#carryOut(
      state,
      { environment, signal: abort.signal },
      {
        ...{ stepId: step.id, attempt, resume, sessionId, timeoutMs: this.#around.timeoutMs },
        prompt: promptOf(step, inputs, isAgain),
      },
    );
  }

  async #prepared(step: PlanStep): Promise<StepEnvironment | { error: unknown }> {
    try {
      return await this.#around.environment(step);
    } catch (error) {
      return { error };
    }
  }

  async #carryOut(
    state: StepState,
    { environment, signal }: { environment: StepEnvironment; signal: AbortSignal },
    request: Parameters<StepAgent>[0],
  ): Promise<void> {
    const { agent, attempts, thread } = this.#around;
    const { step } = state;
    const after = state.after ?? undefined;
    const open = openAttempt({ attempts }, { role: step.id, ...(after && { after }) });
    const startedAt = performance.now();
    let session: string | undefined;
    const around = {
      thread: { ...thread, role: step.id, signal },
      onSession: (id: string) => (session = id),
      environment,
      createSubtask: (subtask: Subtask) => this.#createSubtask(state, environment.hide(subtask)),
      notify: (message: string) => this.#notify(state, environment.hide(message)),
      outputs: () => this.#outputs(),
    };
    try {
      const { output, ...spent } = await open.run(() => agent(request, around));
      signal.throwIfAborted();
      const durationMs = Math.round(performance.now() - startedAt);
      const { attempt } = request;
      const known = session === undefined ? {} : { sdkSessionId: session };
      await this.#commitRecord(
        state,
        environment.hide(output.toWellFormed()),
        { event: "succeeded", attempt, ...known, ...spent, durationMs },
        open.id,
      );
    } catch (error) {
      // The resumed thread repeats an attempt that was aborted with its thread.
      if (thread.signal?.aborted) return open.end("cancelled", error);
      const isCancelled = signal.aborted;
      const message = environment.hide(isCancelled ? cancelled.message : messageOf(error));
      const hidden = message === messageOf(error) ? error : new Error(message);
      await this.#commitFailed(state, message, { isCancelled, session, open, error: hidden });
    }
  }

  /** Records the failure of an attempt, after which another attempt follows or the step has failed. */
  async #commitFailed(
    state: StepState,
    error: string,
    more: { isCancelled?: boolean; session?: string; open?: OpenAttempt; error?: unknown },
  ): Promise<void> {
    const { isCancelled = false, open, session } = more;
    open?.end(isCancelled ? "cancelled" : "failed", more.error);
    const { attempt, failures } = state;
    const known = session === undefined ? {} : { sdkSessionId: session };
    const delayMs = isCancelled ? null : retryDelay(this.#around.policy, failures);
    const record: StepRecord =
      delayMs === null
        ? { event: "failed", attempt, error, ...known, ...(isCancelled && { cancelled: true }) }
        : { event: "attempt_failed", attempt, error, ...known, delayMs };
    await this.#commitRecord(state, error, record, open?.id);
  }

  async #createSubtask({ step: by }: StepState, subtask: Subtask): Promise<PlanStep> {
    const step = subtaskOf(this.#state, by.id, subtask);
    const { id } = step;
    await this.#commit({
      role: id,
      content: step.description,
      meta: { event: "subtask", step, by: by.id },
    });
    this.#advance();
    return step;
  }

  async #notify({ attempt, step }: StepState, message: string): Promise<void> {
    this.#notices += 1;
    if (this.#notices > mostNotices) {
      throw tooManyNotices(mostNotices);
    }
    await this.#commit({
      role: step.id,
      content: message,
      meta: { event: "notice", attempt, message },
    });
  }

  #outputs(): { step: string; output: string }[] {
    const done = this.#state.steps.filter(({ status }) => status === "succeeded");
    return done.map(({ output, step }) => ({ step: step.id, output: output ?? "" }));
  }
}

/** The environment in the record of an attempt that could not start. */
const unavailable: StepEnvironment = {
  ...openEnvironment,
  sandbox: { sandbox: "unavailable" },
};
