import type { PlanView } from "@uncaged/workflow-server/api-types";
import { toString as cronWords } from "cronstrue";
import { counted } from "../../lib/format.ts";

type Trigger = PlanView["trigger"];

const weekdays = ", Monday through Friday";

/** A trigger in words: `Weekdays at 9:00, Europe/Berlin`. */
export function triggerWords(trigger: Trigger): string {
  const { type, expression = "", interval_seconds: seconds = 0, check_script = "" } = trigger;
  if (type === "manual") return "Runs only when you start it";
  if (type === "cron") return `${scheduleWords(expression)}, ${zoneOf(trigger)}`;
  const every = seconds % 60 === 0 ? counted(seconds / 60, "minute") : counted(seconds, "second");
  return `Checks every ${every}: ${check_script}`;
}

function scheduleWords(expression: string): string {
  try {
    const words = cronWords(expression, { use24HourTimeFormat: true, trimHoursLeadingZero: true });
    if (!words.startsWith("At ")) return words;
    const at = words.replace(/^At/, "at");
    if (at.endsWith(weekdays)) return `Weekdays ${at.slice(0, -weekdays.length)}`;
    return at.includes(",") ? words : `Every day ${at}`;
  } catch {
    // The server accepts some expressions that the library does not describe.
    return `cron ${expression}`;
  }
}

/** The zone of a cron trigger's times. */
const zoneOf = ({ timezone = "UTC" }: Trigger): string => timezone;

/** A time of a trigger in its zone, and in the user's zone if that differs. */
export type SlotTimes = { theirs: string; mine: string | null };

/** The times of the next slots after `now`. */
export function slotTimes(
  trigger: Trigger,
  slots: readonly string[],
  now: number,
  ownZone = new Intl.DateTimeFormat().resolvedOptions().timeZone,
): SlotTimes[] {
  const zone = trigger.type === "cron" ? zoneOf(trigger) : ownZone;
  const inZone = formatOf(zone);
  const own = formatOf(ownZone);
  return slots
    .map((slot) => Date.parse(slot))
    .filter((at) => at > now)
    .map((at) => {
      const [theirs, mine] = [inZone.format(at), own.format(at)];
      return { theirs, mine: theirs === mine ? null : mine };
    });
}

const formatOf = (timeZone: string) =>
  new Intl.DateTimeFormat(undefined, {
    ...{ weekday: "short", day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" },
    ...{ year: "numeric", timeZone },
  });

/** The catch-up after missed slots, for example while the computer was off; null without slots. */
export function catchUpWords({ trigger, metadata }: Pick<PlanView, "trigger" | "metadata">) {
  if (trigger.type !== "cron") return null;
  return metadata?.missed_slots === "skip"
    ? "Missed runs are skipped"
    : "After missed runs, it runs once as soon as it can";
}
