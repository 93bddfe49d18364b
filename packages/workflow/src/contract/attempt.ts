import { fromBase32, toBase32 } from "./base32.ts";

/**
 * One construct that a task runs in: `in` names it, `child` the task or chain in it, `iteration` its
 * iteration from 0; a child workflow has the id of its run instead.
 */
export type PathPart =
  | { in: string; child: string; iteration?: number }
  | { in: string; run: string };

/** Where a task runs, outermost construct first. Empty at the top of a workflow. */
export type Path = readonly PathPart[];

/** The failed attempt at the same step that an attempt follows, and how long it has waited. */
export type AfterAttempt = { attempt: string; delay_ms: number };

/**
 * What an attempt executes: a role, where, and how people call it when not by its role; `after` is the one that it
 * tries again.
 */
export type AttemptSpec = { role: string; path?: Path; title?: string; after?: AfterAttempt };

/**
 * How an attempt ended. One that ends with a step of its own is committed by that step, which carries its id;
 * `committed` by `end` is the child of an attempt, whose result is part of that one's step.
 */
export type AttemptOutcome = "committed" | "failed" | "skipped" | "cancelled";

/** Which try a failed attempt was, of how many, and after how many milliseconds the next one begins. */
export type RetriedTry = { try: number; of: number; delay_ms: number };

/** One execution of one role, in progress. It ends with the committed step that carries its id, or with `end`. */
export type OpenAttempt = {
  /** Undefined on a host that records no attempts. */
  readonly id: string | undefined;
  readonly path: Path;
  /** Runs a function in the attempt's async context: every event published in it carries the attempt's id. */
  run<T>(fn: () => T): T;
  /**
   * Ends it without a step of its own. The first end counts; an attempt whose step is committed has ended. `retry` is given
   * for a failed one that is tried again.
   */
  end(outcome: AttemptOutcome, error?: unknown, retry?: RetriedTry): void;
};

/**
 * What a host gives a workflow in `options.attempts`. A workflow that runs several roles concurrently opens
 * one attempt for each, runs the role in it, and yields the step with the attempt's id:
 *
 *     const attempt = options.attempts.open({ role: "reader" });
 *     const content = await attempt.run(() => read(file));
 *     yield { role: "reader", content, meta: {}, attempt: attempt.id };
 *
 * A workflow that opens none has one attempt for each `next()`. An attempt that is opened while another
 * one runs, in its async context, is that one's child.
 */
export type Attempts = {
  open(spec: AttemptSpec): OpenAttempt;
  /** The id of the attempt in whose async context the running code is; null in none. */
  readonly current?: string | null;
  /** The id of the attempt that has no parent, in whose async context the running code is; null in none. */
  readonly outermost?: string | null;
};

/** Opens an attempt, also on a host that records none; `options` are those of `run`, or a role's context. */
export function openAttempt(options: { attempts?: Attempts }, spec: AttemptSpec): OpenAttempt {
  const { path = [] } = spec;
  return (
    options.attempts?.open(spec) ?? { id: undefined, path, run: (fn) => fn(), end: () => undefined }
  );
}

/**
 * A role that uses the attempt that its caller opened for it, `ctx.attempt`, as its own has this property.
 * Any other role may call several such roles, each of which then opens a child of that attempt.
 */
export const usesAttempt: unique symbol = Symbol.for("uncaged.workflow.usesAttempt") as never;

/** A `run` with this property opens an attempt for each of its roles. */
export const opensAttempts: unique symbol = Symbol.for("uncaged.workflow.opensAttempts") as never;

/** The step that recorded a failure: its role, and its attempt where the record names one. */
export type FailedStep = { role: string; attempt?: string };

const failedStep = Symbol.for("uncaged.workflow.failedStep");

/** Marks an error as the failure that a step of the log has recorded. */
export function markFailedStep(error: Error, { role, attempt }: FailedStep): void {
  const value: FailedStep = { role, ...(attempt !== undefined && { attempt }) };
  Object.defineProperty(error, failedStep, { value });
}

/** The step whose recorded failure an error is; undefined for any other error. */
export const failedStepOf = (error: Error): FailedStep | undefined =>
  (error as { [failedStep]?: FailedStep })[failedStep];

const timeDigits = 9;
const randomDigits = 4;
const randomRange = 32 ** randomDigits;

const latest = 32 ** timeDigits - 1;

const whole = (number: number): number => number - (number % 1);

/** A moment that the digits of an id can hold, whatever the clock is set to. */
const boundedTime = (now: number): number =>
  now >= 0 && now <= latest ? whole(now) : now > latest ? latest : 0;

/**
 * Makes the ids of attempts: 9 digits of Crockford Base32 for the time in milliseconds, then 4 that begin
 * at random and rise within a millisecond, as ULIDs do. Ids of one source sort by the time of their making;
 * those of a thread and its forks, which several processes make, do not collide in practice.
 */
export function attemptIds(
  now: () => number = Date.now,
  random: () => number = Math.random,
): () => string {
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

/** When an attempt was opened, in milliseconds since the epoch, by its id; null for what is no id. */
export const attemptTime = (id: string): number | null =>
  /^[0-9A-HJKMNP-TV-Z]{13}$/.test(id) ? fromBase32(id.slice(0, timeDigits)) : null;
