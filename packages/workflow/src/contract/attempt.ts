import { fromBase32, toBase32 } from "./base32.ts";

/**
 * One construct around a task, such as a loop: `in` is its name, `child` the task or chain in it, `iteration` its
 * iteration from 0. If the construct is a child workflow, it has only `run`, the id of its run.
 */
export type PathPart =
  | { in: string; child: string; iteration?: number }
  | { in: string; run: string };

/** The constructs around a task, the outermost first. Empty at the top of a workflow. */
export type Path = readonly PathPart[];

/** The failed attempt at the same step before this attempt, and the delay between them. */
export type AfterAttempt = { attempt: string; delay_ms: number };

/**
 * The role of an attempt, its path, its title if it differs from the role, and in `after` the failed attempt that it
 * retries.
 */
export type AttemptSpec = { role: string; path?: Path; title?: string; after?: AfterAttempt };

/**
 * Outcome of an attempt. An attempt with its own step ends when that step, which has the attempt's id, is committed.
 * Call `end` with `committed` only for a child attempt whose result is part of its parent's step.
 */
export type AttemptOutcome = "committed" | "failed" | "skipped" | "cancelled";

/** Number of a failed try, from 1; the maximum number of tries; the delay until the next try in milliseconds. */
export type RetriedTry = { try: number; of: number; delay_ms: number };

/** One execution of one role, in progress. It ends when the step with its id is committed, or with `end`. */
export type OpenAttempt = {
  /** Undefined on a host that does not record attempts. */
  readonly id: string | undefined;
  readonly path: Path;
  /** Runs a function in the attempt's async context: every event published in it carries the attempt's id. */
  run<T>(fn: () => T): T;
  /**
   * Ends an attempt that does not commit its own step. Only the first end counts. An attempt whose step is committed
   * has already ended. `retry` describes the failed try if another try follows.
   */
  end(outcome: AttemptOutcome, error?: unknown, retry?: RetriedTry): void;
};

/**
 * Opens attempts. A workflow gets it as `options.attempts`. A workflow that runs several roles concurrently opens an
 * attempt for each, runs the role in it, and yields the step with the attempt's id:
 *
 *     const attempt = options.attempts.open({ role: "reader" });
 *     const content = await attempt.run(() => read(file));
 *     yield { role: "reader", content, meta: {}, attempt: attempt.id };
 *
 * In a workflow that does not open attempts, each `next()` is one attempt. An attempt opened in the async context of
 * another attempt is a child of that attempt.
 */
export type Attempts = {
  /** Opens an attempt. */
  open(spec: AttemptSpec): OpenAttempt;
  /** Id of the attempt in whose async context the code runs; null outside of attempts. */
  readonly current?: string | null;
  /** Id of the outermost attempt in whose async context the code runs; null outside of attempts. */
  readonly outermost?: string | null;
};

/**
 * Opens an attempt; returns a stub on a host without attempts. `options`: the options of `run`, or a role's context.
 */
export function openAttempt(options: { attempts?: Attempts }, spec: AttemptSpec): OpenAttempt {
  const { path = [] } = spec;
  return (
    options.attempts?.open(spec) ?? { id: undefined, path, run: (fn) => fn(), end: () => undefined }
  );
}

/**
 * Marks a role that runs in the attempt `ctx.attempt`, which its caller has opened. An unmarked role may call several
 * marked roles: each of these then opens a child attempt.
 */
export const usesAttempt: unique symbol = Symbol.for("uncaged.workflow.usesAttempt") as never;

/** Marks a `run` that opens an attempt for each of its roles. */
export const opensAttempts: unique symbol = Symbol.for("uncaged.workflow.opensAttempts") as never;

/** The step that recorded a failure: its role, and its attempt if recorded. */
export type FailedStep = { role: string; attempt?: string };

const failedStep = Symbol.for("uncaged.workflow.failedStep");

/** Marks an error as the failure that a step of the log has recorded. */
export function markFailedStep(error: Error, { role, attempt }: FailedStep): void {
  const value: FailedStep = { role, ...(attempt !== undefined && { attempt }) };
  Object.defineProperty(error, failedStep, { value });
}

/** Returns the step that recorded an error as its failure; undefined for any other error. */
export const failedStepOf = (error: Error): FailedStep | undefined =>
  (error as { [failedStep]?: FailedStep })[failedStep];

const timeDigits = 9;
const randomDigits = 4;

const whole = (number: number): number => number - (number % 1);

/** Converts a time to whole milliseconds within the range of an id's digits. */
function boundedTime(now: number): number {
  const latest = 32 ** timeDigits - 1;
  return now >= 0 && now <= latest ? whole(now) : now > latest ? latest : 0;
}

/**
 * Returns a generator of attempt ids: 9 digits of Crockford Base32 for the time in milliseconds, then 4 digits that
 * start at a random value and count up within a millisecond, as in ULIDs. Ids of one generator sort by creation time.
 * Ids of a thread and its forks, which come from several processes, do not collide in practice.
 */
export function attemptIds(
  now: () => number = Date.now,
  random: () => number = Math.random,
): () => string {
  const randomRange = 32 ** randomDigits;
  let time = -1;
  let prefix = "";
  let last = 0;
  return () => {
    const present = boundedTime(now());
    if (present > time) {
      time = present;
      prefix = toBase32(time, timeDigits);
      last = whole((random() * randomRange) / 2);
    } else last = (last + 1) % randomRange;
    return prefix + toBase32(last, randomDigits);
  };
}

/** Returns the time of an attempt's start from its id, in milliseconds since the epoch; null for an invalid id. */
export const attemptTime = (id: string): number | null =>
  /^[0-9A-HJKMNP-TV-Z]{13}$/.test(id) ? fromBase32(id.slice(0, timeDigits)) : null;
