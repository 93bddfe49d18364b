import { concurrently } from "@uncaged/workflow/interpreter";
import { isWorkflowError, WorkflowError } from "@uncaged/workflow";
import { messageOf } from "../adapter/error.ts";
import type { ParallelErrorStrategy } from "../document/document.ts";

type StepError = { stepID: string; error: unknown };

/** A step's failure on its way out of the constructs around it. It never leaves the interpreter. */
export class Failure extends Error {
  readonly stepID: string;
  readonly error: unknown;

  constructor(stepID: string, error: unknown) {
    super(`${stepID} failed`, { cause: error });
    this.stepID = stepID;
    this.error = error;
  }
}

/** Every error of what ran concurrently, in the order in which they came. */
export class ParallelError extends Error {
  readonly errors: readonly StepError[];
  /** The step whose children they were, null outside of a run. */
  stepID: string | null = null;

  constructor(errors: readonly StepError[]) {
    const shown = errors.map(({ stepID, error }) => `${stepID}: ${messageOf(error)}`);
    super(`${errors.length} of what ran concurrently failed: ${shown.slice(0, 10).join("; ")}`);
    this.name = "ParallelError";
    this.errors = errors;
  }
}

/** One of several concurrent tasks: the step it begins with, and what it does. */
export type ParallelTask<T> = { stepID: string; run: (signal: AbortSignal) => Promise<T> };

type ParallelOptions = {
  /** The most at once; 0, the default, for no limit. */
  maxConcurrency?: number;
  /** `fail_fast` when not given. */
  errorStrategy?: ParallelErrorStrategy;
  signal?: AbortSignal;
};

/** Runs tasks concurrently, each taken when there is room for it. */
export class ParallelExecutor {
  readonly #options: ParallelOptions;

  constructor(options: ParallelOptions = {}) {
    this.#options = options;
  }

  /**
   * The results in the order of the tasks; undefined for one that was dropped.
   *
   * @throws the first error under `fail_fast`, after the signal of the others was aborted; a
   * {@link ParallelError} with all under `collect`, when all have ended.
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

// Inside of a run the steps that failed may lie further in.
function sources(one: StepError): readonly StepError[] {
  if (one.error instanceof ParallelError) return one.error.errors;
  if (one.error instanceof Failure) return [{ stepID: one.error.stepID, error: one.error.error }];
  return [one];
}

/** A run that failed. `stepID` is the step that did; `cause` is what was thrown there. */
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
