/*
 * Starts a thread that is too large for one message. Its values are staged, and the last message creates the thread. The
 * stager holds the object as long as its messages arrive.
 */

/** Token of the stager and time of its last message, in milliseconds since the epoch. */
export type Staging = { token: string; at: number };

/** `from` is the number of the first value of a message: with 0 a staging begins. */
export type StageRequest = { token: string; from: number };

/** Why a message of a start is refused: another start is in progress or has replaced this one. */
export type NotStaged = "pending" | "superseded";

/** How long a start may be silent before another one takes its place. */
const silentMs = 10_000;

/** Accepts a message or says why not. With `isNew` the object's older values are deleted first. */
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

/** Whether a staging is abandoned. */
export const isAbandoned = (staging: Staging, now: number): boolean => now - staging.at > 3_600_000;
