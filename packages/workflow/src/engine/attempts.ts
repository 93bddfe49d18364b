import {
  type AttemptOutcome,
  type AttemptSpec,
  type Attempts,
  attemptIds,
  type FailedStep,
  failedStepOf,
  type OpenAttempt,
  type RetriedTry,
} from "../contract/attempt.ts";
import type { AttemptError, EventPayloads } from "../contract/event.ts";
import { system } from "../system/system.ts";
import { errorOf } from "./failure.ts";

/** Dependencies of a thread's attempts in the worker: its debug log and its async contexts. */
export type AttemptParts = {
  /** Records the start of an attempt. */
  onStart: (id: string, payload: EventPayloads["attempt_start"]) => void;
  /** Records the end of an attempt that does not commit its own step. */
  onEnd: (id: string, payload: EventPayloads["attempt_end"]) => void;
  /** Removes the start of a committed or unused attempt. Returns false if an event of the attempt was recorded. */
  takeBack: (id: string) => boolean;
  /** Runs a function in the async context of an attempt. */
  enter: <T>(id: string, fn: () => T) => T;
  /** Returns the attempt in whose context the code runs. */
  current: () => string | null;
  /** Returns the outermost attempt in whose context the code runs. */
  outermost: () => string | null;
  /** Maps an error's stacks to the author's sources. An error without a stack gets the position of the failed role. */
  rewrite: (error: AttemptError, role: string | null) => AttemptError;
  now: () => number;
};

/** An error, with its attempt and role if known. */
export type Failure = { attempt?: string; role?: string; error: AttemptError };

const mostFailures = 20;
// If the engine opens the attempt, the role is unknown until the workflow yields.
const unknownRole = { role: null };

/**
 * Attempts of one thread that have not ended. A workflow that opens attempts sets an attempt's id in each step that it
 * yields. For any other workflow the engine opens an attempt at each `next()`: the next step, and every event before
 * it, belong to this attempt.
 */
export class ThreadAttempts {
  /** The workflow's `options.attempts`. */
  readonly forWorkflow: Attempts;
  /** Attempt of the running `next()`, for events outside of any other attempt; null without one. */
  pulled: string | null = null;
  readonly #parts: AttemptParts;
  readonly #nextId: () => string;
  /** Roles of open attempts, by attempt id. */
  readonly #open = new Map<string, string>();
  /** Failed attempts whose step may still follow, because the workflow has caught the failure. */
  readonly #ended = new Set<string>();
  #opensOwn: boolean;
  /** The last errors of attempts, which the workflow may rethrow. */
  readonly #failures: (Failure & { thrown: unknown })[] = [];
  #latest: Failure | null = null;

  /** @param opensOwn Whether the workflow is known to open its attempts itself. */
  constructor(parts: AttemptParts, opensOwn: boolean) {
    this.#parts = parts;
    this.#opensOwn = opensOwn;
    this.#nextId = attemptIds(parts.now, () => system.random());
    const open = (spec: AttemptSpec) => this.#openOne(spec);
    this.forWorkflow = {
      open,
      get current() {
        return parts.current();
      },
      get outermost() {
        return parts.outermost();
      },
    };
  }

  /** Opens the attempt of the next `next()`, unless the workflow opens its attempts itself. */
  pull(): void {
    if (this.#opensOwn) return;
    this.pulled = this.#nextId();
    this.#parts.onStart(this.pulled, unknownRole);
  }

  /** Returns the attempt of a step; undefined without one. `named` is the attempt's id in the step. */
  of(named: string | undefined): string | undefined {
    const isOurs = named !== undefined && (this.#open.has(named) || this.#ended.has(named));
    if (!isOurs) return this.pulled ?? undefined;
    if (this.pulled !== null) {
      this.#opensOwn = true;
      // This attempt is unused, because the workflow opens its attempts itself.
      this.#drop(this.pulled, "skipped");
      this.pulled = null;
    }
    return named;
  }

  /** Ends an attempt whose step is in the log. */
  committed(id: string): void {
    this.#latest = null;
    if (this.pulled === id) this.pulled = null;
    else if (!this.#open.delete(id)) this.#ended.delete(id);
    this.#parts.takeBack(id);
  }

  /** Ends the attempt of a `next()` with which the generator has returned. */
  returned(): void {
    if (this.pulled !== null) this.#drop(this.pulled, "committed");
    this.pulled = null;
  }

  /** Ends the attempt of a `next()` with which the generator has thrown. */
  threw(error: unknown): void {
    if (this.pulled !== null) this.#end(this.pulled, "failed", error);
    this.pulled = null;
  }

  /** Records an uncaught error of an attempt's async context. */
  crashed(thrown: unknown): void {
    const id = this.#parts.current();
    if (id !== null) this.#end(id, "failed", thrown);
  }

  /** Ends an attempt whose step was refused. */
  refused(id: string, role: string, error: unknown): void {
    this.#end(id, "failed", error, role);
  }

  /**
   * Returns the failure of a thread: the attempt that threw `thrown` or one of its causes, else the last failed
   * attempt.
   */
  failureOf(thrown: unknown): Failure {
    const chain = causesOf(thrown);
    const known = this.#failures.find((failure) => chain.includes(failure.thrown));
    const { attempt, role } = known ?? replayedIn(chain) ?? this.#latest ?? {};
    const isSame = known !== undefined && known.thrown === thrown;
    const error = isSame ? known.error : this.#errorOf(thrown, role ?? null);
    return { error, ...(attempt && { attempt }), ...(role && { role }) };
  }

  #errorOf(thrown: unknown, role: string | null): AttemptError {
    return errorOf(thrown, (error) => this.#parts.rewrite(error, role));
  }

  /** Cancels the open attempts when the thread ends. */
  close(): void {
    if (this.pulled !== null) this.#drop(this.pulled, "cancelled");
    for (const id of this.#open.keys()) this.#drop(id, "cancelled");
    this.pulled = null;
  }

  #openOne({ role, path = [], title, after }: AttemptSpec): OpenAttempt {
    const parent = this.#parts.current();
    const id = this.#nextId();
    this.#open.set(id, role);
    this.#parts.onStart(id, {
      role,
      ...(path.length > 0 && { path }),
      ...(title !== undefined && { title }),
      ...(parent !== null && { parent }),
      ...(after !== undefined && { after }),
    });
    return {
      id,
      path,
      run: (fn) => this.#parts.enter(id, fn),
      end: (outcome, error, retry) => this.#end(id, outcome, error, undefined, retry),
    };
  }

  #drop(id: string, outcome: AttemptOutcome): void {
    if (this.#parts.takeBack(id)) this.#open.delete(id);
    else this.#end(id, outcome);
  }

  #end(
    id: string,
    outcome: AttemptOutcome,
    thrown?: unknown,
    role = this.#open.get(id),
    retry?: RetriedTry,
  ): void {
    if (!this.#open.delete(id) && id !== this.pulled) return;
    if (outcome !== "committed") this.#ended.add(id);
    const error = thrown === undefined ? undefined : this.#errorOf(thrown, role ?? null);
    if (outcome === "failed") this.#failed(id, role, thrown, error);
    this.#parts.onEnd(id, { outcome, ...(error && { error }), ...(retry && { retry }) });
  }

  #failed(attempt: string, role: string | undefined, thrown: unknown, error?: AttemptError): void {
    const failure = { attempt, ...(role && { role }), error: error ?? noError };
    this.#latest = failure;
    const { length } = this.#failures;
    this.#failures[length % mostFailures] = { ...failure, thrown };
  }
}

const noError: AttemptError = { name: "Error", message: "no message" };

const mostCauses = 8;

/** Returns a thrown value and the chain of its causes. */
function causesOf(thrown: unknown): unknown[] {
  const chain: unknown[] = [];
  try {
    for (let one = thrown; !chain.includes(one) && chain.length < mostCauses; ) {
      chain.push(one);
      if (!(one instanceof Error) || one.cause === undefined) break;
      one = one.cause;
    }
  } catch {
    // A getter of the error threw.
  }
  return chain;
}

/** Returns the step of the first error in a chain that a durable workflow has thrown again during a replay. */
function replayedIn(chain: readonly unknown[]): FailedStep | undefined {
  return chain.flatMap((one) => (one instanceof Error && failedStepOf(one)) || [])[0];
}
