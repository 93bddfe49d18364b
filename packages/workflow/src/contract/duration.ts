const units: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};

/** Milliseconds, or a text such as `"90s"`, `"1h 30m"`, `"2d"`, with the units ms, s, m, h, d and w. */
export type Duration = number | string;

/** The latest time of a JavaScript date, in milliseconds since the epoch. */
export const latestTime = 8.64e15;

/** Format of duration texts, for hints. */
export const durationHint = 'give milliseconds, or a text such as "500ms", "90s", "1h 30m" or "2d"';

/** Converts a duration to milliseconds; null when it is invalid. Only a number may be negative. */
export function durationMs(duration: unknown): number | null {
  if (typeof duration === "number") return Number.isFinite(duration) ? duration : null;
  if (typeof duration !== "string") return null;
  const text = duration.trim();
  if (!/^([0-9]+(\.[0-9]+)?\s*(ms|[smhdw])\s*)+$/.test(text)) return null;
  let ms = 0;
  for (const [, amount, unit] of text.matchAll(/([0-9.]+)\s*(ms|[smhdw])/g)) {
    ms += Number(amount) * (units[unit as string] as number);
  }
  return Math.round(ms);
}
