const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

/** A duration in milliseconds, in two units at the most: `840 ms`, `12.3 s`, `4 m 05 s`, `2 h 10 m`. */
export function duration(ms: number): string {
  const whole = Math.max(0, Math.round(ms));
  if (whole < second) return `${whole} ms`;
  if (whole < minute) return `${(Math.floor(whole / 100) / 10).toFixed(1)} s`;
  if (whole < hour) return pair(whole, minute, "m", second, "s");
  if (whole < day) return pair(whole, hour, "h", minute, "m");
  return pair(whole, day, "d", hour, "h");
}

function pair(ms: number, big: number, bigName: string, small: number, smallName: string): string {
  const rest = Math.floor((ms % big) / small);
  return `${Math.floor(ms / big)} ${bigName} ${String(rest).padStart(2, "0")} ${smallName}`;
}

/** How long ago a moment was, in one unit: `now`, `12 s ago`, `3 h ago`, `5 d ago`. */
export function ago(moment: number, now: number): string {
  const ms = now - moment;
  if (ms < 5 * second) return "now";
  if (ms < minute) return `${Math.floor(ms / second)} s ago`;
  if (ms < hour) return `${Math.floor(ms / minute)} m ago`;
  if (ms < day) return `${Math.floor(ms / hour)} h ago`;
  return `${Math.floor(ms / day)} d ago`;
}

const dateAndTime = new Intl.DateTimeFormat(undefined, {
  dateStyle: "medium",
  timeStyle: "medium",
});

/** A moment as the reader writes it. */
export const moment = (at: number): string => dateAndTime.format(at);
