/*
 * Rules for the start of a thread that is too large for one message. Each message stages values, and the last message
 * creates the thread. Other starts wait while messages of the first start arrive.
 */

/** Token of the start and time of its last message, in milliseconds since the epoch. */
export type Staging = { token: string; at: number };

/** A message of a start. `from` is the number of its first value; 0 begins a start. */
export type StageRequest = { token: string; from: number };

/** Reason for the refusal of a message: another start is in progress, or has replaced this start. */
export type NotStaged = "pending" | "superseded";

/** Silence after which another start may replace this start, in milliseconds. */
const silentMs = 10_000;

/** Accepts a message or returns the reason for a refusal. With `isNew` the object first deletes its older values. */
export function stage(
  staging: Staging | null,
  { token, from }: StageRequest,
  now: number,
): { staging: Staging; isNew: boolean } | NotStaged {
  const isOwn = staging?.token === token;
  if (from > 0) return isOwn ? { staging: { token, at: now }, isNew: false } : "superseded";
  if (staging && !isOwn && now - staging.at < silentMs) return "pending";
  return { staging: { token, at: now }, isNew: true };
}

/** Whether a start may create the thread. `token` is null when the start has all values in its own message. */
export function seal(
  staging: Staging | null,
  token: string | null,
  now: number,
): "sealed" | NotStaged {
  if (token !== null) return staging?.token === token ? "sealed" : "superseded";
  return staging && now - staging.at < silentMs ? "pending" : "sealed";
}

export const isAbandoned = (staging: Staging, now: number): boolean => now - staging.at > 3_600_000;
