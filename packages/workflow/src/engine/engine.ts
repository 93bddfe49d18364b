/**
 * Drives one thread: next, append, check, repeat.
 *
 * Owns: the generator, the order of commits, the one end record. Does not own: the log's bytes (log), processes and
 * sockets (worker). Called by: worker.
 *
 * E1 A step is durable before the next `next()`.
 * E2 Only the engine calls `next()`, one call at a time per thread.
 * E3 Kill aborts the signal, writes the end, then calls `return()` with a timeout: it waits behind a pending `next()`.
 * E4 The engine must not rely on the `finally` of a generator that never advanced: it does not run.
 * E5 Replaying recorded steps has no effect and does not write records.
 * E6 A thread gets exactly one end record. The exit of a process never counts as an outcome.
 */
import { opensAttempts } from "../contract/attempt.ts";
import { checkResult, checkStep } from "../contract/check.ts";
import {
  drainsOnPause,
  type RoleOutput,
  type Step,
  WAIT,
  type WaitMeta,
} from "../contract/contract.ts";
import { isWorkflowError } from "../contract/error.ts";
import { jsonText } from "../contract/json.ts";
import type { InputRequest, LiveStatus } from "../control/control.ts";
import { type EndRecord, stampedText, textOf } from "../record/record.ts";
import { type ThreadTimes, timesAt, Waited } from "../record/times.ts";
import { stateAfter } from "../store/state.ts";
import { Answers, schemaProblem } from "./answer.ts";
import { ThreadAttempts } from "./attempts.ts";
import { failed, killed, type Outcome, outOfRounds, returned } from "./ending.ts";
import { errorLine } from "./failure.ts";
import { beginGenerator, closeGenerator, type Generator, Halt, stopped } from "./generator.ts";
import type { EngineParts, EngineState, EngineThread } from "./parts.ts";
import { notLive, notWaiting, stepRefused } from "./errors.ts";

type Pulled = IteratorResult<RoleOutput, unknown>;
const soon = Promise.resolve();

/** Drives one thread, starting after its committed steps. */
export class ThreadEngine {
  /** The last committed step. */
  last: Step | null;
  /** The number of committed steps. */
  steps: number;
  readonly #thread: EngineThread;
  readonly #parts: EngineParts;
  readonly #abort = new AbortController();
  readonly #answers: Answers;
  readonly #attempts: ThreadAttempts;
  readonly #halt = new Halt();
  readonly #drains: boolean;
  readonly #createdAt: number;
  readonly #waited: Waited;
  readonly #settled = Promise.withResolvers<Outcome>();
  #generator: Generator | null = null;
  #state: EngineState = { kind: "running" };
  /** The requested pause, if any; its promise resolves when the thread is resumed. */
  #pause: PromiseWithResolvers<void> | null = null;

  constructor(thread: EngineThread, parts: EngineParts) {
    this.#thread = thread;
    this.#parts = parts;
    this.#answers = new Answers(thread.steps, parts, {
      threadId: thread.options.threadId,
      commit: (output) => this.#commitAnswer(output),
      onBroken: (error) => !this.over && this.#breakOff(error),
    });
    this.#attempts = new ThreadAttempts(parts.attempts, opensAttempts in thread.run);
    this.#drains = drainsOnPause in thread.run;
    this.#createdAt = thread.createdAt ?? parts.now();
    this.#waited = new Waited(this.#createdAt);
    for (const step of thread.steps) this.#waited.take(step);
    this.steps = thread.steps.length;
    this.last = thread.steps.at(-1) ?? null;
    if (this.last?.role === WAIT) this.#ask(this.last);
  }

  /** Starts to drive. A thread whose last step is `__wait__` first waits for its answer. */
  start(): void {
    void this.#parts.scope(() => this.#driveOrBreakOff());
  }

  /** Resolves when this engine no longer drives the thread. Never rejects. */
  get done(): Promise<Outcome> {
    return this.#settled.promise;
  }

  /** The thread's status. */
  get status(): LiveStatus {
    switch (this.#state.kind) {
      case "waiting":
        return "waiting";
      case "parked":
        return "paused";
      default:
        return "running";
    }
  }

  /** The thread's working and waiting times. */
  get times(): ThreadTimes {
    const createdAt = this.#createdAt;
    const updatedAt = this.last?.timestamp ?? createdAt;
    const known = { status: this.status, createdAt, updatedAt, waitedMs: this.#waited.ms };
    return timesAt(known, this.#parts.now());
  }

  /** The time at which the thread continues without an answer, in milliseconds since the epoch; null if never. */
  get wakesAt(): number | null {
    return this.#answers.wait?.expiresAt ?? null;
  }

  /**
   * Whether the thread was released, or its end record is written or being written. The generator may still be closing.
   */
  get over(): boolean {
    return ["ending", "ended", "released"].includes(this.#state.kind);
  }

  /** Whether this engine drives the thread: true until the thread is released, or its end record is durable. */
  get isDriven(): boolean {
    return this.#state.kind !== "released" && this.#state.kind !== "ended";
  }

  /** Attempt of the running `next()`; null if the workflow opens its attempts itself, or no `next()` runs. */
  get attempt(): string | null {
    return this.#attempts.pulled;
  }

  /** Whether a pause was requested since the last resume. */
  get isPausing(): boolean {
    return this.#pause !== null;
  }

  /** Requests a pause at the thread's next yield. */
  pause(): void {
    this.#pause ??= Promise.withResolvers();
  }

  /** Resumes a paused thread. Returns false when it was not paused. */
  resume(): boolean {
    if (!this.#pause) return false;
    this.#pause.resolve();
    this.#pause = null;
    return true;
  }

  /** Ends the thread: its end record is durable when this resolves. */
  async kill(): Promise<void> {
    await this.#interrupt(killed(this.#parts.now()));
  }

  /** Ends the thread as failed, for an error thrown outside of its generator. */
  async fail(thrown: unknown): Promise<void> {
    this.#attempts.crashed(thrown);
    await this.#interrupt(this.#failure(thrown));
  }

  /** Stops driving and leaves the log unchanged. The thread can be resumed. */
  async release(): Promise<void> {
    this.#state = { kind: "released" };
    this.#stop();
    await this.#closeWith({ kind: "released" });
  }

  /**
   * Answers the question of step `question`, or the open question. The `__input__` step is durable when this resolves.
   * Logs a refusal.
   * @throws WorkflowError for a refused answer
   */
  answer(input: InputRequest, question?: number): Promise<void> {
    return this.#answers.give(input, question);
  }

  /** Continues a waiting thread whose timeout has passed. Returns false if this call did not continue it. */
  wake(): Promise<boolean> {
    return this.#answers.wake();
  }

  async #driveOrBreakOff(): Promise<void> {
    try {
      await this.#drive();
    } catch (error) {
      this.#breakOff(error);
    }
  }

  async #drive(): Promise<void> {
    const { maxRounds } = this.#thread.options;
    // The caller of `start` may pause the thread before the workflow runs.
    await soon;
    if (this.#answers.wait && (await this.#awaitAnswer()) === stopped) return;
    let answer: Step | undefined;
    for (;;) {
      if (this.steps >= maxRounds) {
        return await this.#endChecked(() => outOfRounds(this.steps, this.#parts.now()));
      }
      if (this.#pause && !this.#drains && (await this.#gate()) === stopped) return;
      if (this.over) return;
      const pulled = await this.#pull(answer);
      if (pulled === stopped) return;
      answer = undefined;
      if (pulled.done) return await this.#finish(pulled.value);
      const step = await this.#commit(pulled.value);
      if (!step || this.over) return;
      if (step.role !== WAIT || this.steps >= maxRounds) continue;
      this.#ask(step);
      const given = await this.#awaitAnswer();
      if (given === stopped) return;
      answer = given;
    }
  }

  async #gate(): Promise<typeof stopped | undefined> {
    while (this.#pause) {
      this.#become("parked");
      this.#parts.onWait();
      const passed = await this.#halt.or(this.#pause.promise);
      this.#become("running");
      if (passed === stopped) return stopped;
    }
  }

  async #pull(answer: Step | undefined): Promise<Pulled | typeof stopped> {
    this.#attempts.pull();
    try {
      this.#generator ??= this.#begin();
      return await this.#halt.or(this.#generator.next(answer));
    } catch (thrown) {
      if (!this.over) await this.#fail(thrown);
      return stopped;
    }
  }

  #begin(): Generator {
    const { run, prompt, steps, params, options } = this.#thread;
    const input = params === undefined ? { prompt, steps } : { prompt, steps, params };
    const over = async () => void (await this.#gate());
    const pause = this.#drains && { pause: { isWanted: () => this.#pause !== null, over } };
    const own = { signal: this.#abort.signal, attempts: this.#attempts.forWorkflow, ...pause };
    return beginGenerator(run, input, { ...options, ...own });
  }

  async #commit(yielded: unknown): Promise<Step | null> {
    const checked = checkStep(yielded);
    let problem = checked.ok ? null : checked.reason;
    if (checked.ok && checked.step.role === WAIT) {
      problem = await schemaProblem(checked.step.meta as WaitMeta, this.#parts.judge);
    }
    if (!checked.ok || problem !== null) {
      await this.#fail(new Error(`step ${this.steps + 1}: ${problem}`));
      return null;
    }
    if (this.over) return null;
    const attempt = this.#attempts.of(checked.attempt);
    const refusal = this.#parts.check?.refusal(checked.step) ?? null;
    if (refusal !== null) return await this.#refuse(checked.step.role, attempt, refusal);
    try {
      const step = await this.#append(checked.step, checked.json, attempt);
      if (attempt !== undefined) this.#attempts.committed(attempt);
      this.#parts.check?.committed(step, attempt);
      return step;
    } catch (error) {
      // The workflow caused the error, and nothing was written: the end record can still be written.
      if (!isWorkflowError(error) || error.code !== "RECORD_TOO_LARGE") throw error;
      await this.#fail(error);
      return null;
    }
  }

  async #refuse(role: string, attempt: string | undefined, problem: string): Promise<null> {
    const error = stepRefused(this.steps + 1, problem);
    if (attempt !== undefined) this.#attempts.refused(attempt, role, error);
    await this.#fail(error);
    return null;
  }

  async #append(output: RoleOutput, json: string, attempt?: string): Promise<Step> {
    const timestamp = this.#parts.now();
    const { role, content, meta } = output;
    const step: Step = { role, content, meta, timestamp };
    if (attempt !== undefined) step.attempt = attempt;
    const state = stateAfter(step, this.steps + 1, this.#thread.options.maxRounds);
    const record = stampedText(json, timestamp, attempt);
    const { paused } = await this.#parts.log.append(record, state);
    if (paused) this.pause();
    this.steps += 1;
    this.last = step;
    this.#waited.take(step);
    return step;
  }

  async #finish(value: unknown): Promise<void> {
    if (this.over) return;
    const checked = checkResult(value);
    if (!checked.ok) return this.#fail(new Error(`the return value: ${checked.reason}`));
    await this.#endChecked(() => {
      this.#attempts.returned();
      return returned(checked.result, this.#parts.now());
    });
  }

  #ask(question: Step): void {
    this.#answers.ask(question.meta as WaitMeta, this.steps);
    this.#become("waiting");
  }

  async #awaitAnswer(): Promise<Step | typeof stopped> {
    this.#parts.onWait();
    try {
      return await this.#halt.or(this.#answers.answered());
    } finally {
      this.#answers.close();
      this.#become("running");
    }
  }

  // Don't change the state of an ended thread.
  #become(kind: "running" | "parked" | "waiting"): void {
    if (!this.over) this.#state = { kind };
  }

  async #commitAnswer({ role, content, meta }: RoleOutput): Promise<Step> {
    if (this.over) throw notWaiting(this.#thread.options.threadId);
    const output = { role, content, meta };
    const step = await this.#append(output, jsonText(output));
    if (!this.#generator) this.#thread.steps.push(step);
    return step;
  }

  async #fail(thrown: unknown): Promise<void> {
    await this.#endChecked(() => {
      this.#attempts.threw(thrown);
      return this.#failure(thrown);
    });
  }

  // Write warnings about the last steps before the end record. Another caller may write the end record first.
  async #endChecked(end: () => EndRecord): Promise<void> {
    await this.#parts.check?.settled();
    if (!this.over) await this.#end(end());
  }

  #failure(thrown: unknown): EndRecord {
    const { now, mask } = this.#parts;
    return failed(thrown, this.#attempts.failureOf(thrown), this.steps + 1, now(), mask);
  }

  #stop(): void {
    this.#halt.now();
    this.#abort.abort();
  }

  async #interrupt(end: EndRecord): Promise<void> {
    if (this.#state.kind === "released") throw notLive(this.#thread.options.threadId);
    const ending = this.#end(end);
    this.#stop();
    await ending;
  }

  // The first caller writes the end (E6); all other callers wait until it is durable.
  #end(end: EndRecord): Promise<void> {
    if (this.#state.kind === "ending" || this.#state.kind === "ended") return this.#state.written;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#state = { kind: "ending", written: promise };
    this.#writeEnd(end, promise).then(resolve, reject);
    return promise;
  }

  async #writeEnd(end: EndRecord, written: Promise<void>): Promise<void> {
    this.#attempts.close();
    try {
      await this.#parts.log.append(textOf(end), { kind: "ended" });
    } catch (error) {
      this.#breakOff(error);
      throw error;
    }
    this.#state = { kind: "ended", written };
    void this.#closeWith({ kind: "ended", end });
  }

  #breakOff(error: unknown): void {
    this.#state = { kind: "released" };
    this.#stop();
    void this.#closeWith({ kind: "brokenOff", error });
  }

  async #closeWith(outcome: Outcome): Promise<void> {
    this.#abort.abort();
    const describe = (thrown: unknown) => errorLine(this.#attempts.failureOf(thrown).error);
    if (this.#generator) await closeGenerator(this.#generator, { ...this.#parts, describe });
    this.#settled.resolve(outcome);
  }
}
