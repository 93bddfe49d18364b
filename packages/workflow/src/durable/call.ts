import type { Attempts, OpenAttempt } from "../contract/attempt.ts";
import type { RoleOutput, Step } from "../contract/contract.ts";
import type { Duration } from "../contract/duration.ts";
import type { Questions } from "../contract/question.ts";
import type { StepOptions } from "./tries.ts";
import type { Answer, WaitRequest } from "../contract/wait.ts";

/** Context of a step's function. All values belong to the thread, never to its process. */
export type StepContext = {
  signal: AbortSignal;
  cwd: string;
  env: Readonly<Record<string, string>>;
  /** Attempt of this work. A role that runs an agent uses it as its own attempt. */
  attempt: OpenAttempt;
  /** Opens attempts for several roles that this work runs concurrently. */
  attempts: Attempts | undefined;
  /**
   * An idempotency key: the same for all attempts of this step, after a resume, and in retries and forks of the thread.
   * Pass it to operations that must not happen twice, such as a payment.
   */
  key: string;
  /** Asks questions during the work. The work's step is committed after their answers. */
  questions: Questions;
  /** The log before this step, or before all steps of a `step.all`. Read only. */
  steps: readonly Step[];
};

/** The work of a step. Its return value is recorded and must survive JSON. */
export type StepFn<T> = (context: StepContext) => T | Promise<T>;

/** A part of a durable workflow that returns a `T`, for custom generators: `yield* part(step)`. */
export type Steps<T> = AsyncGenerator<RoleOutput, T, unknown>;

/** A step that has not run yet: `yield*` runs it, `step.all` accepts a list of such calls, and `await` throws. */
export type StepCall<T> = { [Symbol.asyncIterator](): Steps<T>; then(use: never): never };

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
 * **`yield* step(role, work)`** returns the recorded output when the log has it; otherwise `work` runs and its output
 * is committed. A replay compares the role with the log; roles may repeat. A returned string is the step's content;
 * `{content, meta}` is the step itself; every other JSON value is its content as JSON; `undefined` leaves the content
 * empty. The `yield*` evaluates to the returned value after a round trip through JSON, on the first run and on a
 * replay.
 *
 * With `{retry: {attempts: 5}, timeout: "30s"}` a `work` that throws is retried: see {@link StepOptions}. Each try is
 * an attempt, and each failed try is a step of the log.
 *
 * **`yield* step.all({reader: work, critic: work})`** runs the work in parallel and commits each as it finishes. It
 * also accepts calls, or a list of calls. A replay runs only the calls missing in the log. When one fails, the others
 * finish and are committed before its error is thrown. A list may also contain a `step.wait`, which asks its question
 * when all work is done.
 *
 * **`yield* step.wait("approval", {schema})`** asks for an answer from outside; `{for: "approval"}` as the only
 * argument has the same effect.
 *
 * **`yield* step.sleep("1h")`**, also with milliseconds or a Date, continues after that time. Meanwhile no process
 * needs to run. With a time in the past, the workflow continues at once.
 *
 * An error of `work` is thrown into the workflow as a {@link StepFailure}. When the workflow catches it and continues
 * with another step, the failure is committed too, so that a replay takes the same path; otherwise nothing is recorded
 * and a retry runs the step again.
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
