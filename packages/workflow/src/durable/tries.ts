import { type Duration, durationHint, durationMs } from "../contract/duration.ts";
import type { WorkflowError } from "../contract/error.ts";
import { isPlainObject, isRecord, kindOf, show, shown } from "../contract/show.ts";
import type { RoleOutput } from "../contract/contract.ts";
import { type FailedTry, type StepFailure, tryOf } from "./output.ts";
import { badStepOptions, stepTimeout } from "./errors.ts";

/**
 * Retry policy of a step. `attempts` includes the first attempt. The delay before the second attempt is `backoff` (by
 * default one second). The delay doubles each time up to `maxDelay` (by default 100 times the backoff). `on` selects
 * the failures to retry, by a list of codes or names, or by a predicate; by default all failures except permanent
 * errors.
 */
export type RetryPolicy = {
  attempts: number;
  backoff?: Duration;
  maxDelay?: Duration;
  on?: readonly string[] | ((failure: StepFailure) => boolean);
};

/** Options of a step's work. After `timeout` the work's signal is aborted and the attempt fails. */
export type StepOptions = { retry?: RetryPolicy; timeout?: Duration };

/** Checked step options, with times in milliseconds. */
export type Policy = {
  attempts: number;
  backoffMs: number;
  maxDelayMs: number;
  on: RetryPolicy["on"];
  timeoutMs: number | null;
};

const once: Policy = {
  attempts: 1,
  backoffMs: 0,
  maxDelayMs: 0,
  on: undefined,
  timeoutMs: null,
};

const mostAttempts = 1_000;
const defaultBackoffMs = 1_000;
const growth = 100;
const yearMs = 365 * 86_400_000;
/** Maximum delay of a timer, in milliseconds. */
const longestTimer = 2 ** 31 - 1;

/** Checks the options of a step. @throws WorkflowError `BAD_STEP_OPTIONS` (usage). */
export function policyOf(role: string, options: StepOptions = {}): Policy {
  const bad = (problem: string, hint: string): never => {
    throw badStepOptions(role, problem, hint);
  };
  const known = (name: string, value: unknown, keys: readonly string[]) => {
    const hint = `use ${keys.join(", ")}`;
    if (!isPlainObject(value)) return bad(`${name} is ${kindOf(value)}, not an object`, hint);
    const other = Object.keys(value).find((key) => !keys.includes(key));
    if (other !== undefined) bad(`unknown key ${show(other)} in ${name}`, hint);
  };
  const ms = (name: string, value: unknown, least: number, most: number): number => {
    const found = durationMs(value);
    if (found !== null && found >= least && found <= most) return found;
    return bad(
      `invalid ${name} ${shown(value)}`,
      `${durationHint}; ${least} ms to ${Math.floor(most / 86_400_000)} days`,
    );
  };
  known("options", options, ["retry", "timeout"]);
  const { retry, timeout } = options;
  const timeoutMs = timeout === undefined ? null : ms("timeout", timeout, 1, longestTimer);
  if (retry === undefined) return { ...once, timeoutMs };
  known("retry", retry, ["attempts", "backoff", "maxDelay", "on"]);
  const { attempts, backoff = defaultBackoffMs, maxDelay, on } = retry;
  if (!Number.isInteger(attempts) || attempts < 1 || attempts > mostAttempts)
    bad(
      `invalid retry.attempts ${String(attempts)}`,
      `give a whole number from 1 to ${mostAttempts}, the first try included`,
    );
  const backoffMs = ms("retry.backoff", backoff, 0, yearMs);
  const longest = Math.min(backoffMs * growth, yearMs);
  const maxDelayMs = ms("retry.maxDelay", maxDelay === undefined ? longest : maxDelay, 0, yearMs);
  if (maxDelayMs < backoffMs)
    bad("retry.maxDelay is shorter than retry.backoff", "make it longer, or leave it out");
  const isList = Array.isArray(on) && on.every((one) => typeof one === "string");
  if (on !== undefined && typeof on !== "function" && !isList)
    bad(
      `retry.on is ${kindOf(on)}`,
      'give a list of codes, such as ["RATE_LIMITED"], or a function',
    );
  return { attempts, backoffMs, maxDelayMs, on, timeoutMs };
}

/** Key in the options of `run` that skips the delays between tries, for tests. */
export const withoutDelays: unique symbol = Symbol.for("uncaged.workflow.withoutDelays") as never;

/** Minimum backoff in milliseconds for which the thread sleeps. A sleeping thread does not need a process. */
const longBackoffMs = 10_000;

/** Tries of one step: the number of failures, and the time of the next try. */
export class Tries {
  readonly #role: string;
  readonly #policy: Policy;
  /** Whether a try has failed, including tries copied by a fork. */
  any = false;
  #failed = 0;
  #at = 0;
  #delayMs = 0;
  #attempt: string | undefined;

  constructor(role: string, policy: Policy) {
    this.#role = role;
    this.#policy = policy;
  }

  /** Earliest time of the next try, in milliseconds since the epoch. */
  get at(): number {
    return this.#at;
  }

  /** Remaining delay of the next try, in milliseconds. */
  get leftMs(): number {
    return this.any ? Math.max(0, this.#at - Date.now()) : 0;
  }

  /** Whether the remaining delay is so long that the thread sleeps. */
  get mustSleep(): boolean {
    return this.leftMs >= longBackoffMs;
  }

  /** Clears the delay after a sleep until `until`; null means that there was no sleep. */
  wake(until: number | null): void {
    if (until !== null && this.#at <= until) this.#at = 0;
  }

  /** The failed attempt before the next try, in the form of `AttemptSpec`; undefined without one. */
  get after(): { attempt: string; delay_ms: number } | undefined {
    const attempt = this.#attempt;
    return attempt === undefined ? undefined : { attempt, delay_ms: this.#delayMs };
  }

  /** Describes the next try for people. */
  get next(): string {
    return `try ${this.#failed + 1} of ${this.#policy.attempts} of ${this.#role}`;
  }

  /** Adds a recorded failed try; returns false for the step's result. Tries copied by a fork do not count. */
  take(record: RoleOutput, isCopied: boolean): boolean {
    const found = tryOf(record);
    if (found === null) return false;
    this.any = true;
    this.#failed = isCopied ? 0 : this.#failed + 1;
    this.#at = found.at;
    this.#delayMs = found.delayMs;
    this.#attempt = record.attempt;
    return true;
  }

  /** Adds a failure. Returns its record if another try follows, else null. */
  failed(failure: StepFailure, attempt: string | undefined): FailedTry | null {
    const { attempts, backoffMs, maxDelayMs } = this.#policy;
    if (this.#failed + 1 >= attempts || !isRetried(failure, this.#policy.on)) return null;
    this.any = true;
    const delayMs = Math.min(backoffMs * 2 ** this.#failed, maxDelayMs);
    this.#failed += 1;
    this.#delayMs = delayMs;
    this.#at = Date.now() + delayMs;
    this.#attempt = attempt;
    return { try: this.#failed, of: attempts, delayMs, at: this.#at };
  }
}

/** Codes of permanent errors. */
const hopeless = new Set<unknown>(["BAD_STEP_VALUE", "BUDGET_EXCEEDED", "LOG_CORRUPT"]);

function isRetried(failure: StepFailure, on: RetryPolicy["on"]): boolean {
  const { name, code, cause } = failure;
  if (hopeless.has(code)) return false;
  if (typeof on === "function") return on(failure);
  if (on !== undefined) return on.includes(name) || (code !== undefined && on.includes(code));
  return !(isRecord(cause) && cause.retryable === false);
}

/** Resolves after `ms` milliseconds; rejects when the signal is aborted. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", onAbort);
      resolve();
    }, ms);
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
  });
}

type Aside = <T>(wait: () => Promise<T>) => Promise<T>;

/** A timer that stops while its task waits through `aside`. */
class Countdown {
  readonly #onOver: () => void;
  #leftMs: number;
  #since = 0;
  #aside = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(ms: number, onOver: () => void) {
    this.#leftMs = ms;
    this.#onOver = onOver;
    this.#go();
  }

  readonly aside: Aside = async (wait) => {
    if (this.#aside++ === 0) this.#stop();
    try {
      return await wait();
    } finally {
      if (--this.#aside === 0) this.#go();
    }
  };

  end(): void {
    this.#stop();
    this.#leftMs = Number.NaN;
  }

  #go(): void {
    if (Number.isNaN(this.#leftMs)) return;
    this.#since = performance.now();
    this.#timer = setTimeout(this.#onOver, this.#leftMs);
  }

  #stop(): void {
    clearTimeout(this.#timer);
    this.#leftMs = Math.max(0, this.#leftMs - (performance.now() - this.#since));
  }
}

/**
 * Runs work with its own signal, which is aborted with the given signal and after a timeout. Fails at once after the
 * timeout, even if the work ignores the signal. Time spent in a wait through `aside` does not count.
 */
export async function withTimeout<T>(
  role: string,
  ms: number,
  signal: AbortSignal,
  work: (signal: AbortSignal, aside: Aside) => T | Promise<T>,
): Promise<T> {
  const own = new AbortController();
  const onAbort = (): void => own.abort(signal.reason);
  if (signal.aborted) onAbort();
  signal.addEventListener("abort", onAbort, { once: true });
  let isLate: (error: WorkflowError) => void = () => undefined;
  const late = new Promise<never>((_, reject) => (isLate = reject));
  const countdown = new Countdown(ms, () => {
    const error = stepTimeout(role, ms);
    isLate(error);
    own.abort(error);
  });
  try {
    return await Promise.race([late, work(own.signal, countdown.aside)]);
  } finally {
    countdown.end();
    signal.removeEventListener("abort", onAbort);
  }
}
