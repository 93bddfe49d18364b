import type { ObjectHandlerOpts, ObjectOptions } from "@restatedev/restate-sdk";

const days = (count: number) => ({ days: count });

/**
 * Options of short handlers. Their journals are useless after the reply. State is lazy because objects may be large.
 */
export const brief: ObjectOptions = {
  enableLazyState: true,
  journalRetention: 0,
  idempotencyRetention: 0,
  inactivityTimeout: { seconds: 20 },
  abortTimeout: { seconds: 20 },
  retryPolicy: {
    initialInterval: 50,
    maxInterval: { seconds: 5 },
    exponentiationFactor: 2,
    maxAttempts: 1_000_000,
  },
};

/** Options of the handler that drives a thread: a role may run for days. */
export const long: ObjectHandlerOpts<{ epoch: number }, string> = {
  inactivityTimeout: days(365),
  abortTimeout: days(365),
};
