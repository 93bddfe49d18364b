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

/** What the attempts of a thread need of the worker: its debug log, and its async contexts. */
export type AttemptParts = {
  /** Records that an attempt begins. */
  onStart: (id: string, payload: EventPayloads["attempt_start"]) => void;
  /** Records that an attempt has ended without a step of its own. */
  onEnd: (id: string, payload: EventPayloads["attempt_end"]) => void;
  /** An attempt was committed, or came to nothing: takes its start back if nothing of it was recorded yet. */
  takeBack: (id: string) => boolean;
  /** Runs a function in the async context of an attempt. */
  enter: <T>(id: string, fn: () => T) => T;
  /** The attempt in whose context the running code is. */
  current: () => string | null;
  /** The one that it is within and that has no parent. */
  outermost: () => string | null;
  /** An error with the positions of the author's sources, by its stacks; else by the role that failed. */
  rewrite: (error: AttemptError, role: string | null) => AttemptError;
  now: () => number;
};

/** Which attempt failed, as far as it is known, and by what. */
export type Failure = { attempt?: string; role?: string; error: AttemptError };

const mostFailures = 20;
// Which role a plain bundle executes is known when it yields.
const unknownRole = { role: null };

/**
 * The attempts of one thread that have not ended. A workflow that opens attempts names one in each step that
 * it yields. For any other the engine opens one at each `next()`: the step that comes of it, and every event
 * meanwhile, is of that attempt.
 */
export class ThreadAttempts {
  /** What the workflow gets as `options.attempts`. */
  readonly forWorkflow: Attempts;
  /** The attempt of the running `next()`, for events that are published in no other; null when there is none. */
  pulled: string | null = null;
  readonly #parts: AttemptParts;
  readonly #nextId: () => string;
  /** Those that have not ended, each with its role. */
  readonly #open = new Map<string, string>();
  /** Those that have ended and whose step may still come: a failure that the workflow has caught. */
  readonly #ended = new Set<string>();
  #opensOwn: boolean;
  /** What attempts failed by; those since the last commit may be what the workflow then throws. */
  readonly #failures: (Failure & { thrown: unknown })[] = [];
  #latest: Failure | null = null;

  /** @param opensOwn Whether the workflow is known to open its attempts itself. */
  constructor(parts: AttemptParts, opensOwn: boolean) {
    this.#parts = parts;
    this.#opensOwn = opensOwn;
    // Ids need not be unpredictable.
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

  /** The generator is asked for its next step. */
  pull(): void {
    if (this.#opensOwn) return;
    this.pulled = this.#nextId();
    this.#parts.onStart(this.pulled, unknownRole);
  }

  /** The attempt of a step that was yielded with this id; undefined when it has none. */
  of(named: string | undefined): string | undefined {
    const isOurs = named !== undefined && (this.#open.has(named) || this.#ended.has(named));
    if (!isOurs) return this.pulled ?? undefined;
    if (this.pulled !== null) {
      this.#opensOwn = true;
      // It stands for nothing: the workflow opens its attempts itself.
      this.#drop(this.pulled, "skipped");
      this.pulled = null;
    }
    return named;
  }

  /** The step of an attempt is in the log. */
  committed(id: string): void {
    this.#latest = null;
    if (this.pulled === id) this.pulled = null;
    else if (!this.#open.delete(id)) this.#ended.delete(id);
    this.#parts.takeBack(id);
  }

  /** The generator has returned: what it did since its last step has come to its end. */
  returned(): void {
    if (this.pulled !== null) this.#drop(this.pulled, "committed");
    this.pulled = null;
  }

  /** The generator has thrown. */
  threw(error: unknown): void {
    if (this.pulled !== null) this.#end(this.pulled, "failed", error);
    this.pulled = null;
  }

  /** Something was thrown that nobody caught, where it was thrown in the async context of an attempt. */
  crashed(thrown: unknown): void {
    const id = this.#parts.current();
    if (id !== null) this.#end(id, "failed", thrown);
  }

  /** The step of an attempt was refused. */
  refused(id: string, role: string, error: unknown): void {
    this.#end(id, "failed", error, role);
  }

  /** What a thread fails by: the attempt that threw it, as it was or as a cause, else the one that failed last. */
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

  /** The thread has ended: whatever is still open was cancelled with it. */
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

/** What was thrown, and the chain of its causes. */
function causesOf(thrown: unknown): unknown[] {
  const chain: unknown[] = [];
  try {
    for (let one = thrown; !chain.includes(one) && chain.length < mostCauses; ) {
      chain.push(one);
      if (!(one instanceof Error) || one.cause === undefined) break;
      one = one.cause;
    }
  } catch {
    // A getter that throws.
  }
  return chain;
}

/** The recorded failure among causes that a durable workflow has thrown in a replay. */
function replayedIn(chain: readonly unknown[]): FailedStep | undefined {
  return chain.flatMap((one) => (one instanceof Error && failedStepOf(one)) || [])[0];
}
