import {
  folderOf,
  INPUT,
  type RecordedAnswers,
  type RoleOutput,
  type Step,
  type ThreadInput,
  WAIT,
  type WorkflowOptions,
} from "../contract/contract.ts";
import { isWorkflowError, type WorkflowError } from "../contract/error.ts";
import { show } from "../contract/show.ts";
import { type OpenAttempt, openAttempt } from "../contract/attempt.ts";
import { stepKey } from "../contract/key.ts";
import { type AskOutside, isStepQuestion, QuestionLog } from "../contract/question.ts";
import { sleepsUntil } from "../contract/wait.ts";
import { type Surrounded, surrounded } from "../moderator/surround.ts";
import type { StepContext, StepFn } from "./call.ts";
import {
  type FailedTry,
  StepFailure,
  failureOutput,
  memberKey,
  outputOf,
  valueOf,
} from "./output.ts";
import { pause, type Policy, Tries, withoutDelays, withTimeout } from "./tries.ts";
import { diverged, stepNotRun } from "./errors.ts";

/**
 * The recorded steps of a thread, which the workflow takes in the order of the log. A divergence is final: every later
 * call throws the same error, even if the workflow has caught it.
 */
export class Replay {
  /** The log up to the workflow's position: taken steps, and steps committed since. */
  readonly history: Step[] = [];
  readonly questions = new QuestionLog();
  /** Position of the workflow's last call of `step`; undefined after a plain `yield`. */
  at: Error | undefined;
  readonly #steps: ThreadInput["steps"];
  #taken = 0;
  #divergence: WorkflowError | null = null;

  constructor(steps: ThreadInput["steps"]) {
    this.#steps = steps;
  }

  /** Throws the divergence, if any. */
  check(): void {
    if (this.#divergence !== null) throw this.#divergence;
  }

  /** Returns the next recorded step. First takes the questions of this step's work, which precede the step. */
  peek(): RoleOutput | undefined {
    this.check();
    for (let next = this.#next; next && isStepQuestion(next); next = this.#next) {
      this.#accept(next);
      if (this.#next?.role === INPUT) this.#accept(this.#next);
    }
    return this.#next;
  }

  get #next(): RoleOutput | undefined {
    return this.#steps[this.#taken];
  }

  /** Whether the last taken step is a `__wait__` step. */
  get #isAsked(): boolean {
    return this.#steps[this.#taken - 1]?.role === WAIT;
  }

  #accept(step: RoleOutput): void {
    this.#taken += 1;
    this.record(step);
  }

  /** Yields the remaining recorded steps, each of which must be taken before the next. */
  *rest(): Generator<RoleOutput, void> {
    for (let next = this.peek(); next !== undefined; next = this.peek()) yield next;
  }

  /** Takes the next recorded step, which must have this role; undefined at the end of the log. */
  take(role: string): RoleOutput | undefined {
    const next = this.peek();
    if (next !== undefined && next.role !== role) this.diverge(`came to ${show(role)}`);
    return this.accept();
  }

  /** Takes the next recorded step; undefined at the end of the log. */
  accept(): RoleOutput | undefined {
    const next = this.peek();
    if (next !== undefined) this.#accept(next);
    return next;
  }

  /** Adds a committed step to the history. Without a timestamp it gets the current time. */
  record(step: RoleOutput & { timestamp?: number }): void {
    this.history.push({ timestamp: Date.now(), ...step });
    this.questions.take(step);
  }

  /** The number of taken steps. */
  get taken(): number {
    return this.#taken;
  }

  /** Takes a recorded sleep of this name if it is the next step. Returns its end if the sleep is over, else null. */
  takeSleep(what: string): number | null {
    const next = this.peek();
    const until = next === undefined ? null : sleepsUntil(next);
    if (next?.meta.for !== what || until === null) return null;
    this.accept();
    if (this.peek()?.role !== INPUT) return null;
    this.accept();
    return until;
  }

  /** Takes the recorded answer to a question. A question without an answer is asked again. */
  takeAnswer(what: string, onWait?: (wait: RoleOutput) => void): RoleOutput | undefined {
    const waits = `waits for ${show(what)}`;
    for (let next = this.peek(); next !== undefined; next = this.peek()) {
      const isWait = next.role === WAIT;
      if (!isWait && (next.role !== INPUT || !this.#isAsked)) this.diverge(waits);
      if ((isWait || next.meta.for !== undefined) && next.meta.for !== what) this.diverge(waits);
      this.accept();
      if (!isWait) return next;
      onWait?.(next);
    }
    return undefined;
  }

  /**
   * Throws an error that ends the workflow even if the workflow catches it. Sets its stack to the last call of `step`.
   */
  fail(error: WorkflowError): never {
    if (this.at) error.stack = this.at.stack;
    this.#divergence = error;
    throw error;
  }

  /** Throws when recorded steps remain that the workflow has not taken. */
  finish(): void {
    if (this.peek() !== undefined) this.diverge("ended");
  }

  /** Throws `DIVERGED`; `did` describes the workflow's action in place of the recorded step. */
  diverge(did: string): never {
    const next = this.#steps[this.#taken];
    const isUnasked = next?.role === INPUT && !this.#isAsked;
    const after = isUnasked ? " without a question" : "";
    const found = next === undefined ? "missing" : `${described(next)}${after}`;
    return this.fail(diverged(this.#taken, found, did));
  }
}

function described({ role, meta }: RoleOutput): string {
  const what = role === WAIT || role === INPUT ? meta.for : undefined;
  return typeof what === "string" ? `${show(role)} for ${show(what)}` : show(role);
}

/** Result of a step's work, and the step that records it. `isTry`: the work is retried after this failure. */
export type Outcome =
  | { output: RoleOutput; value: unknown; failure: null; isTry: false }
  | { output: RoleOutput; failure: StepFailure; isTry: boolean };

/** The work that a call of `step` describes. */
export type StepWork = { role: string; fn: StepFn<unknown>; policy: Policy };

/**
 * The work of one step. `member` is its index among steps of its name in a `step.all`, `n` its number among all steps
 * with this name and index, from 1, and `key` its idempotency key.
 */
export type Work = {
  role: string;
  member: number | null;
  n: number;
  fn: StepFn<unknown>;
  key: string;
  policy: Policy;
  tries: Tries;
};

/** Counts an occurrence of a key. Returns its number, from 1. */
export function nextIn(counts: Map<string, number>, key: string): number {
  const n = (counts.get(key) ?? 0) + 1;
  counts.set(key, n);
  return n;
}

/** Progress of one run of a durable workflow. */
export class Progress {
  readonly replay: Replay;
  /** The calls of `step` that have not run. */
  readonly idle = new Set<{ readonly at: Error }>();
  readonly #context: Omit<StepContext, "attempt" | "steps" | "key" | "questions">;
  /** The arguments of `run`. */
  readonly #run: { input: ThreadInput; options: WorkflowOptions };
  readonly #counts = new Map<string, number>();
  readonly #members = new Map<string, number>();
  /** The answers of a fixture, which replace the work of steps. */
  readonly #recorded: RecordedAnswers | null;
  readonly #isUndelayed: boolean;
  #failures: RoleOutput[] = [];
  #offered: RoleOutput | null = null;

  constructor(input: ThreadInput, options: WorkflowOptions) {
    this.replay = new Replay(input.steps);
    const { signal = new AbortController().signal, env = {}, attempts } = options;
    this.#context = { signal, cwd: folderOf(options), env, attempts };
    this.#run = { input, options };
    this.#recorded = options.recorded ?? null;
    this.#isUndelayed = withoutDelays in options;
  }

  /** Whether a fixture replaces the work of steps. Then sleeps end at once. */
  get isRecorded(): boolean {
    return this.#recorded !== null;
  }

  /** Waits until the next try of a step. */
  async delay({ leftMs }: Tries): Promise<void> {
    if (leftMs > 0) await pause(this.#isUndelayed ? 0 : leftMs, this.signal);
  }

  /** Aborted when the thread is killed, and when its worker shuts down. */
  get signal(): AbortSignal {
    return this.#context.signal;
  }

  /** Returns the work of the step that the workflow has reached. */
  work({ role, fn, policy }: StepWork, member: number | null): Work {
    const key = stepKey(this.#run.options, role, nextIn(this.#counts, role));
    const n = nextIn(this.#members, memberKey(role, member));
    return { role, member, n, fn, key, policy, tries: new Tries(role, policy) };
  }

  /** Adds the record of a failed try to the tries. Returns false for any other record. */
  isTry({ tries }: Work, record: RoleOutput): boolean {
    return tries.take(record, this.replay.taken <= (this.#run.options.forkFrom?.steps ?? 0));
  }

  /** Runs the work of a step and asks its questions through `ask`. Never throws. */
  async attempt(work: Work, steps: readonly Step[], ask: AskOutside): Promise<Outcome> {
    const { role, member, tries } = work;
    const path = member === null ? [] : [{ in: "step.all", child: role, iteration: member }];
    const { after } = tries;
    const attempt = openAttempt(this.#context, { role, path, ...(after && { after }) });
    const { id } = attempt;
    try {
      const output = outputOf(
        role,
        member,
        await attempt.run(() => this.#do(work, attempt, steps, ask)),
      );
      const value = valueOf(output);
      return { output: { ...output, attempt: id }, value, failure: null, isTry: false };
    } catch (thrown) {
      const failed = this.#failed(work, thrown, id);
      const { retry } = failed;
      const next = retry ? { try: retry.try, of: retry.of, delay_ms: retry.delayMs } : undefined;
      attempt.end(this.signal.aborted ? "cancelled" : "failed", thrown, next);
      return failed;
    }
  }

  async #do(
    work: Work,
    attempt: OpenAttempt,
    steps: readonly Step[],
    ask: AskOutside,
  ): Promise<Surrounded<unknown>> {
    const {
      role,
      fn,
      key,
      policy: { timeoutMs },
    } = work;
    const found = this.#answer(work);
    if (found !== null) return { value: valueOf(found) };
    const run = (signal: AbortSignal, asks: AskOutside) => {
      const questions = this.replay.questions.for(asks, signal);
      const context = { ...this.#context, attempt, steps, key, signal, questions };
      const step = { role, context: Object.freeze(context), ...this.#run };
      return surrounded(step, () => fn(step.context));
    };
    if (timeoutMs === null) return await run(this.signal, ask);
    return await withTimeout(role, timeoutMs, this.signal, (signal, aside) =>
      run(signal, (wait) => aside(() => ask(wait))),
    );
  }

  /** Returns the recorded output that replaces the work; null without a fixture. */
  #answer({ role, member, n }: Work): RoleOutput | null {
    try {
      return this.#recorded?.(role, n, member) ?? null;
    } catch (error) {
      if (isWorkflowError(error)) this.replay.fail(error);
      throw error;
    }
  }

  #failed({ role, member, tries }: Work, thrown: unknown, attempt: string | undefined) {
    let failure = StepFailure.of(role, thrown);
    let retry: FailedTry | null = null;
    try {
      // Do not retry work that was aborted with its thread: a resume repeats it. A failure in a fixture is final.
      const isFinal = this.isRecorded && thrown instanceof StepFailure;
      if (!this.signal.aborted && !isFinal) retry = tries.failed(failure, attempt);
    } catch (error) {
      failure = StepFailure.of(role, error);
    }
    const output = { ...failureOutput(failure, member, retry), attempt };
    return { output, failure, isTry: retry !== null, retry };
  }

  /** Keeps a failure until the workflow continues after it. */
  remember(failure: RoleOutput): void {
    this.#failures.push(failure);
  }

  /** Commits the failures that the workflow has caught, because it continued after them. */
  async *settle(): AsyncGenerator<RoleOutput, void, unknown> {
    this.replay.check();
    const failures = this.#failures;
    this.#failures = [];
    for (const failure of failures) yield this.offer(failure);
  }

  /** Marks a step as new, to be committed. */
  offer(output: RoleOutput): RoleOutput {
    this.#offered = output;
    return output;
  }

  /** Returns whether a yielded value comes from a step, rather than from a plain `yield` of the workflow. */
  isOffered(yielded: unknown): boolean {
    return yielded === this.#offered;
  }

  /** Checks a workflow that has returned: throws when steps of the log remain, or a call of `step` did not run. */
  finish(): void {
    this.replay.finish();
    for (const { at } of this.idle) {
      throw Object.assign(stepNotRun(at.message), { stack: at.stack });
    }
  }
}
