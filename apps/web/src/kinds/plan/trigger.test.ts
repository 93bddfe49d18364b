import { expect, test } from "bun:test";
import { catchUpWords, slotTimes, triggerWords } from "./trigger.ts";

const cron = (expression: string, timezone?: string) => ({
  type: "cron" as const,
  expression,
  ...(timezone !== undefined && { timezone }),
});

test("a trigger is described in words", () => {
  expect(triggerWords({ type: "manual" })).toBe("Runs only when you start it");
  expect(triggerWords({ type: "poll", interval_seconds: 300, check_script: "ls" })).toBe(
    "Checks every 5 minutes: ls",
  );
  const words = [
    ["0 9 * * 1-5", "Weekdays at 9:00, UTC"],
    ["0 9 * * MON-FRI", "Weekdays at 9:00, UTC"],
    ["30 8,18 * * *", "Every day at 8:30 and 18:30, UTC"],
    ["0 9 * * 7", "At 9:00, only on Sunday, UTC"],
    ["*/15 9-17 * * *", "Every 15 minutes, between 9:00 and 17:59, UTC"],
    ["0 9 L * *", "At 9:00, on the last day of the month, UTC"],
    ["0 9 * * +1", "cron 0 9 * * +1, UTC"],
  ] as const;
  for (const [expression, text] of words) expect(triggerWords(cron(expression))).toBe(text);
  expect(triggerWords(cron("0 9 * * 1-5", "Europe/Berlin"))).toBe(
    "Weekdays at 9:00, Europe/Berlin",
  );
});

test("the next times are shown in the trigger's zone and in the user's", () => {
  const slots = ["2026-01-05T08:00:00.000Z", "2026-01-06T08:00:00.000Z"];
  const now = Date.parse("2026-01-05T09:00:00.000Z");
  const [next, ...none] = slotTimes(cron("0 9 * * *", "Europe/Berlin"), slots, now, "Asia/Tokyo");
  expect(none).toEqual([]);
  expect(next?.theirs).toContain("09:00");
  expect(next?.mine).toContain("05:00");
  const same = slotTimes(cron("0 8 * * *"), slots, now, "UTC");
  expect(same.map(({ mine }) => mine)).toEqual([null]);
});

test("the catch-up of missed slots is described for schedules only", () => {
  expect(catchUpWords({ trigger: { type: "manual" }, metadata: {} })).toBeNull();
  expect(catchUpWords({ trigger: cron("0 9 * * *"), metadata: { missed_slots: "skip" } })).toBe(
    "Missed runs are skipped",
  );
  expect(catchUpWords({ trigger: cron("0 9 * * *"), metadata: {} })).toContain("runs once");
});
