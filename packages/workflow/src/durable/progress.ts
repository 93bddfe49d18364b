import { openAttempt } from "../contract/attempt.ts";
import type { RoleOutput, ThreadInput, WorkflowOptions } from "../contract/contract.ts";
import { WorkflowError } from "../contract/error.ts";
import { show } from "../contract/show.ts";
import type { StepContext, StepFn } from "./call.ts";
import { StepFailure } from "./failure.ts";
import { failureOutput, outputOf, valueOf } from "./output.ts";
import { Replay } from "./replay.ts";

/** What the work of a step came to, and the step that records it. */
export type Outcome =
  | { output: RoleOutput; value: unknown; failure: null }
  | { output: RoleOutput; failure: StepFailure };

/** How far one run of a durable workflow has come. */
export class Progress {
  readonly replay: Replay;
  readonly #context: Omit<StepContext, "attempt">;
  readonly #idle = new Map<object, string>();
  #failures: RoleOutput[] = [];
  #offered: RoleOutput | null = null;

  constructor(input: ThreadInput, options: WorkflowOptions) {
    this.replay = new Replay(input.steps);
    const { signal = new AbortController().signal, cwd, env = {}, attempts } = options;
    this.#context = { signal, cwd, env, attempts };
  }

  /** Does the work of a step. Never throws. */
  async attempt(role: string, member: number | null, work: StepFn<unknown>): Promise<Outcome> {
    const path = member === null ? [] : [{ in: "step.all", child: role, iteration: member }];
    const attempt = openAttempt(this.#context, { role, path });
    const { id } = attempt;
    try {
      const context = Object.freeze({ ...this.#context, attempt });
      const output = outputOf(role, member, await attempt.run(() => work(context)));
      return { output: { ...output, attempt: id }, value: valueOf(output), failure: null };
    } catch (thrown) {
      attempt.end("failed", thrown);
      const failure = StepFailure.of(role, thrown);
      return { output: { ...failureOutput(failure, member), attempt: id }, failure };
    }
  }

  /** Keeps a failure until it is known whether the workflow goes on after it. */
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

  /** A step was described. */
  described(call: object, role: string): void {
    this.#idle.set(call, role);
  }

  /** A step that was described is being run. */
  started(call: object): void {
    this.#idle.delete(call);
  }

  /** The workflow has returned: throws when it left out steps of the log, or forgot one of its own. */
  finish(): void {
    this.replay.finish();
    for (const role of this.#idle.values()) {
      throw new WorkflowError({
        code: "STEP_NOT_RUN",
        kind: "failed",
        message: `step ${show(role)} was described but never run`,
        hint: "write yield* before it, or pass it to step.all",
      });
    }
  }
}
