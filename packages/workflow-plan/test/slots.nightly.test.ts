import { expect, test } from "bun:test";
import { scheduleOf } from "../src/check/schedule.ts";

/* The slots of cron triggers, compared with a wall clock that is read minute by minute. */
const minute = 60_000;
const day = 1440 * minute;

const matches = (field: string, value: number, least: number, most: number): boolean =>
  field.split(",").some((part) => {
    const [range = "", step] = part.split("/");
    const [first = "", last] = range.split("-");
    const from = first === "*" ? least : Number(first);
    const to = first === "*" || (step && last === undefined) ? most : Number(last ?? first);
    return value >= from && value <= to && (value - from) % Number(step ?? 1) === 0;
  });

const weekdays = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];

/** Returns each minute of a zone whose local time is new to the zone, and whether it matches. */
function slotsOf(expression: string, timeZone: string, from: number, to: number): number[] {
  const format = new Intl.DateTimeFormat("en-GB", {
    ...({ timeZone, hourCycle: "h23", year: "numeric", month: "numeric" } as const),
    ...({ day: "numeric", hour: "numeric", minute: "numeric", weekday: "short" } as const),
  });
  const [minutes = "", hours = "", days = "", months = "", week = ""] = expression.split(" ");
  const [seen, slots] = [new Set<string>(), [] as number[]];
  for (let time = from - day; time < to; time += minute) {
    const parts = format.formatToParts(time).map(({ type, value }) => [type, value]);
    const wall = Object.fromEntries(parts) as Record<string, string>;
    const label = `${wall.year}-${wall.month}-${wall.day} ${wall.hour}:${wall.minute}`;
    if (seen.has(label)) continue;
    seen.add(label);
    const isDay = matches(days, Number(wall.day), 1, 31);
    const isWeekday = matches(week, weekdays.indexOf(wall.weekday ?? ""), 0, 6);
    const isDate = days === "*" || week === "*" ? isDay && isWeekday : isDay || isWeekday;
    const isTime =
      matches(minutes, Number(wall.minute), 0, 59) && matches(hours, Number(wall.hour), 0, 23);
    if (isDate && isTime && matches(months, Number(wall.month), 1, 12) && time >= from) {
      slots.push(time);
    }
  }
  return slots;
}

const changes: [zone: string, ...days: string[]][] = [
  ["Europe/Berlin", "2026-03-29", "2026-10-25"],
  ["America/New_York", "2026-03-08", "2026-11-01"],
  ["Australia/Lord_Howe", "2026-04-05", "2026-10-04"],
  ["America/St_Johns", "2026-03-08", "2026-11-01"],
  ["Asia/Beirut", "2026-03-29", "2026-10-25"],
  ["UTC", "2026-02-28"],
];
const expressions = [
  ...["30 2 * * *", "30 2,3 * * *", "0,30 0-3 * * *", "0 * * * *", "*/20 * * * *", "0 0 * * *"],
  ...["15 1 * * 0", "0 0 1 * *", "45 */2 1-7 * 1", "0 3 29 2 *"],
];
const show = (times: readonly (number | null)[]) =>
  times.map((time) => time && new Date(time).toISOString());

test.each(changes)("slots in %s are the existing local times, each once", (zone, ...days) => {
  for (const one of days) {
    const [from, to] = [Date.parse(one) - 2 * day, Date.parse(one) + 3 * day];
    for (const expression of expressions) {
      const expected = slotsOf(expression, zone, from, to);
      const schedule = scheduleOf(expression, zone);
      const found: number[] = [];
      for (let time: number | null = from - 1; ; found.push(time)) {
        time = schedule.next(time);
        if (time === null || time >= to) break;
      }
      expect({ expression, slots: show(found) }).toEqual({ expression, slots: show(expected) });
      for (let until = from; until < to; until += 5 * 60 * minute + 1234) {
        const after = until - 13 * 60 * minute;
        const latest = expected.filter((slot) => slot > after && slot <= until).at(-1) ?? null;
        if (after < from) continue;
        const at = show([until])[0];
        const got = { expression, at, latest: show([schedule.latest(after, until)]) };
        expect(got).toEqual({ expression, at, latest: show([latest]) });
      }
    }
  }
});

test("a slot is found to the millisecond, and a slot belongs to the period that ends at it", () => {
  const schedule = scheduleOf("0 9 * * *");
  const nine = Date.parse("2026-06-01T09:00:00Z");
  expect(schedule.next(nine - 1)).toBe(nine);
  expect(schedule.next(nine)).toBe(nine + day);
  expect(schedule.latest(nine - 1, nine)).toBe(nine);
  expect(schedule.latest(nine, nine + day - 1)).toBeNull();
  expect(schedule.latest(nine - 1, nine + 10 * day + 5)).toBe(nine + 10 * day);
});

test("a schedule without further slots returns none", () => {
  expect(scheduleOf("0 0 30 2 *").next(Date.now())).toBeNull();
  expect(scheduleOf("0 0 29 2 *").latest(Date.parse("2025-01-01"), Date.parse("2026-01-01"))).toBe(
    null,
  );
});
