import {
  INPUT,
  type RoleOutput,
  type Step,
  type ThreadInput,
  WAIT,
  type WorkflowOptions,
} from "../contract/contract.ts";
import { WorkflowError } from "../contract/error.ts";
import { show } from "../contract/show.ts";
import { openAttempt } from "../contract/attempt.ts";
import type { StepContext, StepFn } from "./call.ts";
import { StepFailure, failureOutput, outputOf, valueOf } from "./output.ts";

/**
 * The recorded steps, taken in the order of the log. A workflow that has taken another way has diverged for
 * good: every later call throws the same error, also when the workflow has caught it.
 */
export class Replay {
  /** The log as far as the workflow has come: what was taken of it, and what was committed since. */
  readonly history: Step[] = [];
  readonly #steps: ThreadInput["steps"];
  #taken = 0;
  #divergence: WorkflowError | null = null;

  constructor(steps: ThreadInput["steps"]) {
    this.#steps = steps;
  }

  check(): void {
    if (this.#divergence !== null) throw this.#divergence;
  }

  peek(): RoleOutput | undefined {
    this.check();
    return this.#steps[this.#taken];
  }

  /** The recorded steps from the next one on, as far as each is taken before the one behind it. */
  *rest(): Generator<RoleOutput, void> {
    for (let next = this.peek(); next !== undefined; next = this.peek()) yield next;
  }

  /** Takes the next recorded step, which must be of this role; undefined when the log is used up. */
  take(role: string): RoleOutput | undefined {
    const next = this.peek();
    if (next !== undefined && next.role !== role) this.diverge(`came to ${show(role)}`);
    return this.accept();
  }

  accept(): RoleOutput | undefined {
    const next = this.peek();
    if (next === undefined) return next;
    this.#taken += 1;
    this.record(next);
    return next;
  }

  /** Adds a step that was committed; it has the time that it brings, or the clock's. */
  record(step: RoleOutput & { timestamp?: number }): void {
    this.history.push({ timestamp: Date.now(), ...step });
  }

  /** Takes the recorded answer to a question, also one given before it; a question without one is asked again. */
  takeAnswer(what: string): RoleOutput | undefined {
    const waits = `waits for ${show(what)}`;
    for (let next = this.peek(); next !== undefined; next = this.peek()) {
      const isWait = next.role === WAIT;
      if (!isWait && next.role !== INPUT) this.diverge(waits);
      if ((isWait || next.meta.for !== undefined) && next.meta.for !== what) this.diverge(waits);
      this.accept();
      if (!isWait) return next;
    }
    return undefined;
  }

  /** Throws when the log holds more than the workflow took until its end. */
  finish(): void {
    if (this.peek() !== undefined) this.diverge(`ended after ${stepsOf(this.#taken)}`);
  }

  /** Throws `DIVERGED`; `did` says what the workflow did where the log holds the next step. */
  diverge(did: string): never {
    const next = this.#steps[this.#taken];
    const found = next === undefined ? "not there" : described(next);
    this.#divergence = WorkflowError.failed(
      "DIVERGED",
      `step ${this.#taken + 1} of the log is ${found}, but the workflow ${did}`,
      `from the same steps a durable workflow must go the same way: outside of its steps, no clock, random number, environment or file may decide it; a fork that keeps the first ${stepsOf(this.#taken)} goes on without the rest`,
    );
    throw this.#divergence;
  }
}

const stepsOf = (count: number): string => (count === 1 ? "1 step" : `${count} steps`);

function described({ role, meta }: RoleOutput): string {
  const what = role === WAIT || role === INPUT ? meta.for : undefined;
  return typeof what === "string" ? `${show(role)} for ${show(what)}` : show(role);
}

/** What the work of a step came to, and the step that records it. */
export type Outcome =
  | { output: RoleOutput; value: unknown; failure: null }
  | { output: RoleOutput; failure: StepFailure };

/** How far one run of a durable workflow has come. */
export class Progress {
  readonly replay: Replay;
  readonly #context: Omit<StepContext, "attempt" | "steps">;
  readonly #idle = new Map<object, string>();
  #failures: RoleOutput[] = [];
  #offered: RoleOutput | null = null;

  constructor(input: ThreadInput, options: WorkflowOptions) {
    this.replay = new Replay(input.steps);
    const { signal = new AbortController().signal, cwd, env = {}, attempts } = options;
    this.#context = { signal, cwd, env, attempts };
  }

  /** Does the work of a step. Never throws. */
  async attempt(
    role: string,
    member: number | null,
    work: StepFn<unknown>,
    steps: readonly Step[],
  ): Promise<Outcome> {
    const path = member === null ? [] : [{ in: "step.all", child: role, iteration: member }];
    const attempt = openAttempt(this.#context, { role, path });
    const { id } = attempt;
    try {
      const context = Object.freeze({ ...this.#context, attempt, steps });
      const output = outputOf(role, member, await attempt.run(() => work(context)));
      return { output: { ...output, attempt: id }, value: valueOf(output), failure: null };
    } catch (thrown) {
      attempt.end("failed", thrown);
      const failure = StepFailure.of(role, thrown);
      return { output: { ...failureOutput(failure, member), attempt: id }, failure };
    }
  }

  /** Keeps a failure until the workflow goes on after it. */
  remember(failure: RoleOutput): void {
    this.#failures.push(failure);
  }

  /** Commits the failures that the workflow has caught: it goes on, so they belong to its way. */
  async *settle(): AsyncGenerator<RoleOutput, void, unknown> {
    this.replay.check();
    const failures = this.#failures;
    this.#failures = [];
    for (const failure of failures) yield this.offer(failure);
  }

  /** Marks a step as one that is not in the log and is to be committed. */
  offer(output: RoleOutput): RoleOutput {
    this.#offered = output;
    return output;
  }

  /** Whether something yielded comes from a step, and not from a plain `yield` of the workflow. */
  isOffered(yielded: unknown): boolean {
    return yielded === this.#offered;
  }

  described(call: object, role: string): void {
    this.#idle.set(call, role);
  }

  started(call: object): void {
    this.#idle.delete(call);
  }

  /** The workflow has returned: throws when it left out steps of the log, or forgot one of its own. */
  finish(): void {
    this.replay.finish();
    for (const role of this.#idle.values()) {
      throw WorkflowError.failed(
        "STEP_NOT_RUN",
        `step ${show(role)} was described but never run`,
        "write yield* before it, or pass it to step.all",
      );
    }
  }
}
