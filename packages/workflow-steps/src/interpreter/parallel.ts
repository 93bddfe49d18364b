import { concurrently } from "@uncaged/workflow/interpreter";
import { isWorkflowError, WorkflowError } from "@uncaged/workflow";
import { messageOf } from "../adapter/error.ts";
import type { ParallelErrorStrategy } from "../document/document.ts";

type StepError = { stepID: string; error: unknown };

/** A step's failure, thrown through the enclosing constructs. It never leaves the interpreter. */
export class Failure extends Error {
  readonly stepID: string;
  readonly error: unknown;

  constructor(stepID: string, error: unknown) {
    super(`${stepID} failed`, { cause: error });
    this.stepID = stepID;
    this.error = error;
  }
}

/** All errors of concurrent tasks, in the order of their failures. */
export class ParallelError extends Error {
  readonly errors: readonly StepError[];
  /** The step whose children failed; null outside a run. */
  stepID: string | null = null;

  constructor(errors: readonly StepError[]) {
    const shown = errors.map(({ stepID, error }) => `${stepID}: ${messageOf(error)}`);
    super(`${errors.length} concurrent chains failed: ${shown.slice(0, 10).join("; ")}`);
    this.name = "ParallelError";
    this.errors = errors;
  }
}

/** One of several concurrent tasks, with its first step. */
export type ParallelTask<T> = { stepID: string; run: (signal: AbortSignal) => Promise<T> };

type ParallelOptions = {
  /** The maximum number of concurrent tasks; 0 (the default) means no limit. */
  maxConcurrency?: number;
  /** Defaults to `fail_fast`. */
  errorStrategy?: ParallelErrorStrategy;
  signal?: AbortSignal;
};

/** Runs tasks concurrently up to a limit. Takes each task from the iterable when it can start. */
export class ParallelExecutor {
  readonly #options: ParallelOptions;

  constructor(options: ParallelOptions = {}) {
    this.#options = options;
  }

  /**
   * Returns the results in the order of the tasks; undefined for a dropped task.
   *
   * @throws the first error under `fail_fast`, after the other tasks are aborted; a {@link ParallelError} with all
   * errors under `collect`, when all tasks have ended.
   */
  async run<T>(tasks: Iterable<ParallelTask<T>>): Promise<(T | undefined)[]> {
    const { maxConcurrency: limit, errorStrategy = "fail_fast", signal } = this.#options;
    const ids: string[] = [];
    function* work() {
      for (const { stepID, run } of tasks) {
        ids.push(stepID);
        yield run;
      }
    }
    const onFailure = errorStrategy === "fail_fast" ? "abort" : "settle";
    const { values, failures } = await concurrently(work(), { limit, signal, onFailure });
    if (errorStrategy === "collect" && failures.length > 0) {
      const errors = failures.map(({ index, error }) => ({ stepID: ids[index] ?? "", error }));
      throw new ParallelError(errors.flatMap(sources));
    }
    return values;
  }
}

// A task may fail with the errors of steps that are nested in it.
function sources(one: StepError): readonly StepError[] {
  if (one.error instanceof ParallelError) return one.error.errors;
  if (one.error instanceof Failure) return [{ stepID: one.error.stepID, error: one.error.error }];
  return [one];
}

/** A failed run. `stepID` is the failed step, `cause` its error. */
export class RunError extends WorkflowError {
  readonly stepID: string | null;

  constructor(stepID: string | null, cause: unknown) {
    const known = isWorkflowError(cause) ? cause : null;
    const text = messageOf(cause);
    const isNamed = stepID === null || text.startsWith(stepID);
    const message = isNamed ? text : `${stepID}: ${text}`;
    const { code = "STEP_FAILED", hint, details } = known ?? {};
    super({ code, message, hint, details }, { cause });
    this.name = "RunError";
    this.stepID = stepID;
  }
}
