const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

/** How long ago a moment is, for people: `3m ago`; after 30 days its date. Both in milliseconds. */
export function ago(moment: number, now: number): string {
  const past = now - moment;
  if (past < 5 * second) return "just now";
  if (past < minute) return `${Math.floor(past / second)}s ago`;
  if (past < hour) return `${Math.floor(past / minute)}m ago`;
  if (past < day) return `${Math.floor(past / hour)}h ago`;
  if (past < 30 * day) return `${Math.floor(past / day)}d ago`;
  return isoTime(moment).slice(0, 10);
}

/** A span of milliseconds for people: `0.4s`, `12s`, `3m 05s`, `2h 03m`, `4d 02h`. */
export function elapsed(span: number): string {
  const ms = Math.max(0, span);
  if (ms < 10 * second) return `${(Math.floor(ms / 100) / 10).toFixed(1)}s`;
  if (ms < minute) return `${Math.floor(ms / second)}s`;
  if (ms < hour) return pair(ms, minute, "m", second, "s");
  if (ms < day) return pair(ms, hour, "h", minute, "m");
  return pair(ms, day, "d", hour, "h");
}

function pair(ms: number, large: number, largeName: string, small: number, smallName: string) {
  const rest = Math.floor((ms % large) / small);
  return `${Math.floor(ms / large)}${largeName} ${String(rest).padStart(2, "0")}${smallName}`;
}

/** A moment as RFC 3339 in UTC; one that no calendar has, as its number. */
export function isoTime(moment: number): string {
  const date = new Date(moment);
  return Number.isNaN(date.getTime()) ? String(moment) : date.toISOString();
}
