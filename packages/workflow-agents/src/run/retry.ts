import type { Duration, WorkflowError } from "@uncaged/workflow";
import { durationMs } from "@uncaged/workflow/interpreter";
import { invalidAttempts, invalidRetryOn, invalidRetryTime, unknownRetryOption } from "./errors.ts";

/** The error of a failed model call: a `ProviderError`. */
export type FailedCall = WorkflowError & {
  readonly type: string;
  readonly retryable: boolean;
  readonly status: number | null;
};

/**
 * The retry policy of model calls. `attempts` is the maximum number of tries, including the first (3 by default). The
 * delay before the second try is `backoff` (1 second). The delay doubles each time up to `maxDelay` (1 minute), and is
 * randomly up to a quarter shorter. A longer delay that the provider requests takes precedence. `on` selects the errors
 * to retry by code or type, or by a function (`retryable` errors by default). A try does not start later than
 * `deadline` after the start of the role.
 */
export type CallRetry = {
  attempts?: number;
  backoff?: Duration;
  maxDelay?: Duration;
  deadline?: Duration;
  on?: readonly string[] | ((error: FailedCall) => boolean);
};

/** A checked policy, in milliseconds. */
export type CallPolicy = {
  attempts: number;
  backoffMs: number;
  maxDelayMs: number;
  deadlineMs: number;
  on: CallRetry["on"];
};

const mostAttempts = 1_000;
const dayMs = 86_400_000;

/**
 * Checks a policy.
 * @throws WorkflowError `BAD_RETRY` for an invalid policy.
 */
export function callPolicy(retry: CallRetry = {}): CallPolicy {
  const { attempts = 3, backoff = 1_000, maxDelay = 60_000, deadline, on } = retry;
  const known = ["attempts", "backoff", "maxDelay", "deadline", "on"];
  const other = Object.keys(retry).find((key) => !known.includes(key));
  if (other !== undefined) throw unknownRetryOption(other, known);
  if (!Number.isInteger(attempts) || attempts < 1 || attempts > mostAttempts) {
    throw invalidAttempts(attempts, mostAttempts);
  }
  const ms = (name: string, value: Duration): number => {
    const found = durationMs(value);
    if (found !== null && found >= 0 && found <= dayMs) return found;
    throw invalidRetryTime(name, value);
  };
  const isList = Array.isArray(on) && on.every((one) => typeof one === "string");
  if (on !== undefined && typeof on !== "function" && !isList) {
    throw invalidRetryOn();
  }
  return {
    attempts,
    backoffMs: ms("backoff", backoff),
    maxDelayMs: ms("maxDelay", maxDelay),
    deadlineMs: deadline === undefined ? Number.POSITIVE_INFINITY : ms("deadline", deadline),
    on,
  };
}

/** A retry policy, and the start time of the role by `performance.now()`. */
export type Retrying = { policy: CallPolicy; since: number };
