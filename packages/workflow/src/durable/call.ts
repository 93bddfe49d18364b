import type { Attempts, OpenAttempt } from "../contract/attempt.ts";
import type { RoleOutput, Step } from "../contract/contract.ts";
import type { Duration } from "../contract/duration.ts";
import type { Questions } from "../contract/question.ts";
import type { StepOptions } from "./tries.ts";
import type { Answer, WaitRequest } from "../contract/wait.ts";

/** What a step's function is given: the thread's, never that of the process that it runs in. */
export type StepContext = {
  signal: AbortSignal;
  cwd: string;
  env: Readonly<Record<string, string>>;
  /** The attempt that this work is; a role of an agent takes it over. */
  attempt: OpenAttempt;
  /** Opens attempts for several roles that this work runs concurrently. */
  attempts: Attempts | undefined;
  /**
   * An idempotency key: the same for all tries of this step, after a resume, and in retries and forks of the thread.
   * Give it to whatever must not happen twice, such as a payment.
   */
  key: string;
  /** What the work asks from outside while it goes on: its step is committed afterwards. */
  questions: Questions;
  /** The log before this step; of `step.all` before all of them. It is to be read only. */
  steps: readonly Step[];
};

/** The work of a step. What it returns is recorded and must survive JSON. */
export type StepFn<T> = (context: StepContext) => T | Promise<T>;

/** A part of a durable workflow that ends with a `T`, for a generator of one's own: `yield* part(step)`. */
export type Steps<T> = AsyncGenerator<RoleOutput, T, unknown>;

/** A step that was described and not run yet: `yield*` runs it, `step.all` takes a list of them. */
export type StepCall<T> = { [Symbol.asyncIterator](): Steps<T> };

type Result<C> = C extends StepCall<infer T> ? T : never;
type Results<F> = {
  [K in keyof F]: F[K] extends StepCall<infer T>
    ? T
    : F[K] extends StepFn<infer T>
      ? Awaited<T>
      : never;
};

/**
 * The first argument of a durable workflow.
 *
 * **`yield* step(role, work)`** is the recorded output when the log has it; when it has not, `work`
 * runs and its output is committed. The role is also what the log is compared with, and may come as
 * often as one likes. A returned string is the step's content; `{content, meta}` is the step itself;
 * every other JSON value is its content as JSON; `undefined` leaves the content empty. The value of
 * the `yield*` is what was returned, as JSON keeps it, on the first run and on a replay alike.
 *
 * With `{retry: {attempts: 5}, timeout: "30s"}` a `work` that throws is tried again: see {@link StepOptions}. Each try
 * is an attempt, and a failed one a step of the log.
 *
 * **`yield* step.all({reader: work, critic: work})`**, also with calls, or a list of calls, runs them in
 * parallel and commits each as it finishes. A replay runs only those that are not in the log. When one
 * fails, the others finish and are committed before its error is thrown. A list may also hold a
 * `step.wait`, which is asked when all work is done.
 *
 * **`yield* step.wait("approval", {schema})`** asks for an answer from outside; `{for: "approval"}`
 * as the only argument is the same.
 *
 * **`yield* step.sleep("1h")`**, also with milliseconds or a Date, continues then: no process need live
 * meanwhile. A moment that has passed continues at once.
 *
 * A `work` that throws is thrown into the workflow as a {@link StepFailure}. When the workflow
 * catches it and goes on to a further step, the failure is committed too, so that a replay takes the
 * same way; when it does not, nothing is recorded and the step is run again by a retry.
 */
export type DurableStep = {
  <T>(role: string, work: StepFn<T>, options?: StepOptions): StepCall<T>;
  all<C extends readonly StepCall<unknown>[]>(
    calls: readonly [...C],
  ): StepCall<{ [K in keyof C]: Result<C[K]> }>;
  all<F extends Record<string, StepFn<unknown> | StepCall<unknown>>>(work: F): StepCall<Results<F>>;
  wait<T = unknown>(what: string, request?: WaitRequest): StepCall<Answer<T>>;
  wait<T = unknown>(request: WaitRequest & { for: string }): StepCall<Answer<T>>;
  sleep(time: Duration | Date): StepCall<void>;
};
