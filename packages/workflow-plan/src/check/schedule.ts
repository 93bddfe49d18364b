import { Cron } from "croner";

/** The slots of a cron trigger: the times at which it is due. */
export type Schedule = {
  /** Returns the first slot after a time, in milliseconds since the epoch; null if there is none. */
  next(after: number): number | null;
  /** Returns the last slot after `after` and at or before `until`; null if there is none. */
  latest(after: number, until: number): number | null;
};

/**
 * Parses a cron schedule of five fields in a time zone (default: UTC). A local time that the clock skips is not a slot.
 * A repeated local time is one slot, at its first occurrence.
 * @throws Error with the reason on one line.
 */
export function scheduleOf(expression: string, timezone = "UTC"): Schedule {
  const fields = expression.trim().split(/\s+/).filter(Boolean);
  if (fields.length !== 5) {
    throw new Error(
      `must have exactly five fields (minute hour day month weekday), not ${fields.length}`,
    );
  }
  if (!isTimeZone(timezone)) throw new Error("needs a known time zone");
  try {
    return slotsOf(cronOf(fields, timezone), offsetsOf(timezone));
  } catch (cause) {
    throw new Error(problemIn(fields), { cause });
  }
}

const cronOf = (fields: readonly string[], timezone?: string): Cron =>
  new Cron(fields.join(" "), { mode: "5-part", timezone, paused: true });

/** The fields of an expression and their ranges. */
const parts = [
  ["minute", "0 to 59"],
  ["hour", "0 to 23"],
  ["day of the month", "1 to 31"],
  ["month", "1 to 12, or JAN to DEC"],
  ["weekday", "0 to 7, or SUN to SAT"],
] as const;

/** Describes the problem of an expression: the first field that is invalid on its own. */
function problemIn(fields: readonly string[]): string {
  const at = fields.findIndex((field, n) => !isValid(parts.map((_, m) => (m === n ? field : "*"))));
  const [name, takes] = parts[at] ?? [];
  if (name === undefined) return "is not a cron expression";
  const shown = JSON.stringify(fields[at]?.slice(0, 60));
  return `invalid ${name} ${shown}: use ${takes}, or *, a range, a list or a step of these`;
}

function isValid(fields: readonly string[]): boolean {
  try {
    cronOf(fields);
    return true;
  } catch {
    return false;
  }
}

/** Returns whether a text is an IANA name of a time zone. An offset such as `+01:00` is not. */
export function isTimeZone(name: string): boolean {
  if (!/^[a-z]/i.test(name)) return false;
  try {
    new Intl.DateTimeFormat("en", { timeZone: name }).format();
    return true;
  } catch {
    return false;
  }
}

const dayMs = 86_400_000;

// Croner moves a skipped local time to a later time, and may return a repeated local time twice.
function slotsOf(cron: Cron, offsetAt: (time: number) => number): Schedule {
  function isSlot(date: Date): boolean {
    if (!cron.match(date)) return false;
    const time = date.getTime();
    const [before, offset] = [offsetAt(time - dayMs), offsetAt(time)];
    return before <= offset || offsetAt(time - (before - offset)) !== before;
  }
  return {
    next(after) {
      let found = cron.nextRun(new Date(after));
      while (found && !isSlot(found)) found = cron.nextRun(found);
      return found && found.getTime();
    },
    latest(after, until) {
      let [found = null] = cron.previousRuns(1, new Date(until + 1000));
      while (found && found.getTime() > after) {
        if (found.getTime() <= until && isSlot(found)) return found.getTime();
        [found = null] = cron.previousRuns(1, found);
      }
      return null;
    },
  };
}

/** Returns how far a zone's clocks are ahead of UTC at a time, in milliseconds. */
function offsetsOf(timeZone: string): (time: number) => number {
  const format = new Intl.DateTimeFormat("en", { timeZone, timeZoneName: "longOffset" });
  return (time) => {
    const name = format.formatToParts(time).find(({ type }) => type === "timeZoneName")?.value;
    const [, sign, hours, minutes] = /([+-])(\d+):(\d+)/.exec(name ?? "") ?? [];
    const ahead = (Number(hours ?? 0) * 60 + Number(minutes ?? 0)) * 60_000;
    return sign === "-" ? -ahead : ahead;
  };
}
