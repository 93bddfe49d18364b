import { delay } from "../run/delay.ts";
import { publish } from "../run/run.ts";
import type { CallPolicy, Retrying } from "../run/retry.ts";
import { ProviderError } from "./error.ts";

// Maximum accepted delay in milliseconds. A longer delay means a daily limit or an outage, so the call fails and a
// person can react.
const longestAsked = 10 * 60_000;

/**
 * Makes a call, and repeats it after the errors and with the delays of a policy. Publishes each delay when it starts.
 */
export async function retried<T>(
  { policy, since }: Retrying,
  signal: AbortSignal | undefined,
  call: () => Promise<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await call();
    } catch (error) {
      const ms = delayAfter(error, attempt, policy);
      if (ms === null || signal?.aborted) throw error;
      if (performance.now() + ms > since + policy.deadlineMs) throw error;
      const { message } = error as ProviderError;
      publish("llm_retry", { attempt_number: attempt + 1, delay_ms: ms, error: message });
      await delay(ms, signal);
    }
  }
}

/** Returns the delay until the next try, or null if the policy does not allow another try. */
function delayAfter(error: unknown, attempt: number, policy: CallPolicy): number | null {
  const { attempts, backoffMs, maxDelayMs, on } = policy;
  if (!(error instanceof ProviderError) || attempt >= attempts) return null;
  const { code, type, retryable, retryAfterMs } = error;
  const isWorth =
    on === undefined
      ? retryable
      : typeof on === "function"
        ? on(error)
        : on.includes(code) || on.includes(type);
  if (!isWorth || (retryAfterMs ?? 0) > longestAsked) return null;
  const backoff = Math.min(backoffMs * 2 ** (attempt - 1), maxDelayMs);
  return Math.round(Math.max(retryAfterMs ?? 0, backoff * (1 - Math.random() / 4)));
}
