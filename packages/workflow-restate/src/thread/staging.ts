/*
 * A thread that is too large for one message is started by several: its values are staged, and the last message makes a
 * thread of them. Until then there is none. Who stages holds the object for as long as messages come.
 */

/** Who stages a thread's values, and when the last message came, in milliseconds since the epoch. */
export type Staging = { token: string; at: number };

/** `from` is the number of the first value of a message: with 0 a staging begins. */
export type StageRequest = { token: string; from: number };

/** Why a message of a start is not taken: another start has not ended yet, or has taken this one's place. */
export type NotStaged = "pending" | "superseded";

/** How long a start may be silent before another one takes its place. */
const silentMs = 10_000;

/** Whether a message is taken; with `isNew` all that the object has goes before. */
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

/** Whether a thread is made by a start; `token` is null for one that has all of it in its own message. */
export function seal(
  staging: Staging | null,
  token: string | null,
  now: number,
): "sealed" | NotStaged {
  if (token !== null) return staging?.token === token ? "sealed" : "superseded";
  return staging && now - staging.at < silentMs ? "pending" : "sealed";
}

/** Whether nobody will go on with what was staged. */
export const isAbandoned = (staging: Staging, now: number): boolean => now - staging.at > 3_600_000;
