import { expect, test } from "bun:test";
import { compareCheck, lastDue } from "../src/trigger/poll.ts";
import {
  type CronTrigger,
  type PollTrigger,
  registered,
  settleSlots,
  type TriggerState,
} from "../src/trigger/state.ts";

/* The result of checking a trigger: a function of its state and the time. */
const at = (text: string): number => Date.parse(text);
const none: TriggerState = {
  last_result: null,
  last_check_at: null,
  last_fire_at: null,
  last_error: null,
};
const poll = (more: Partial<PollTrigger> = {}): PollTrigger => ({
  type: "poll",
  interval_seconds: 60,
  check_script: "ls",
  diff_mode: "new_items",
  ...more,
});
const cron = (expression: string, timezone?: string): CronTrigger => ({
  type: "cron",
  expression,
  ...(timezone && { timezone }),
});

/** Returns the data of each output's fire, or null if it does not fire. */
function firesOf(outputs: string[], trigger = poll(), firesFirst = false): (string | null)[] {
  let state = none;
  return outputs.map((output) => {
    const checked = compareCheck(trigger, state, { output }, { firesFirst, checkedAt: 0 });
    state = { ...state, ...checked.state };
    return checked.data;
  });
}

test("the first output fires nothing, and each later new line fires once, in order", () => {
  const outputs = ["a\nb\n", "b\nd\n\n \nc\nd\n", "b\n", "a\r\nb\r\n", "", "a\n", "a"];
  expect(firesOf(outputs)).toEqual([null, "d\nc", null, "a", null, null, null]);
  expect(firesOf(["a\n\na\n", "a"], poll(), true)).toEqual(["a", null]);
  expect(firesOf(["\n"], poll(), true)).toEqual([null]);
});

test("a blank output changes the time of the check and clears its error, and the first output is stored", () => {
  expect(firesOf(["a\nb", "", " \n", "a\nb\nc", "\n", "c\nb"])).toEqual([
    ...[null, null, null, "c", null, null],
  ]);
  expect(firesOf(["", "a"])).toEqual([null, "a"]);
  const state = { ...none, last_result: "a", last_error: "it failed" };
  const checked = compareCheck(poll(), state, { output: "" }, { firesFirst: false, checkedAt: 0 });
  expect(checked.state).toEqual({ last_check_at: "1970-01-01T00:00:00.000Z", last_error: null });
});

test("any change fires with the new text, even when the text is empty", () => {
  const trigger = poll({ diff_mode: "any_change" });
  expect(firesOf(["a\n", "a\n", "a", "", "", "b"], trigger)).toEqual([
    ...[null, null, "a", "", null, "b"],
  ]);
  expect(firesOf(["", ""], trigger, true)).toEqual(["", null]);
});

test("a hundred thousand lines are compared at once", () => {
  const lines = Array.from({ length: 100_000 }, (_, index) => String(index));
  const [, fired] = firesOf([lines.join("\n"), [...lines, "new"].toReversed().join("\n")]);
  expect(fired).toBe("new");
});

test("a failed check changes only its time and its error, and consecutive failures are counted", () => {
  let state: TriggerState = { ...none, last_result: "a", last_fire_at: "then" };
  const counts = ["one", "two", "(failures in a row: 7)", null, "again"].map((error, index) => {
    const outcome = error === null ? { output: "a" } : { error };
    const checkedAt = at("2026-01-01") + index;
    const checked = compareCheck(poll(), state, outcome, { firesFirst: true, checkedAt });
    if (error) expect(Object.keys(checked.state).sort()).toEqual(["last_check_at", "last_error"]);
    state = { ...state, ...checked.state };
    return checked.failures;
  });
  expect(counts).toEqual([1, 2, 3, 0, 1]);
  expect(state).toEqual({
    last_result: "a",
    last_check_at: "2026-01-01T00:00:00.004Z",
    last_fire_at: "then",
    last_error: "again (failures in a row: 1)",
  });
});

test("due times during a slow check are skipped", () => {
  const trigger = poll({ interval_seconds: 10 });
  expect([0, 9_999, 10_000, 35_000].map((end) => lastDue(0, end, trigger))).toEqual([
    ...[0, 0, 10_000, 30_000],
  ]);
  expect(lastDue(5000, 1000, trigger)).toBe(5000);
});

test("a registration resets the trigger, and an unchanged poll remembers its output", () => {
  const now = at("2026-11-23T08:59:59.500Z");
  const state = { ...none, last_result: "old", last_check_at: "x", last_error: "e" };
  const after = (trigger: PollTrigger) =>
    registered(trigger, { trigger: poll(), state }, now).last_result;
  expect(registered(poll(), null, now)).toEqual(none);
  expect(registered(poll(), { trigger: poll(), state }, now)).toEqual({
    ...none,
    last_result: "old",
  });
  expect(after(poll({ interval_seconds: 5 }))).toBe("old");
  expect(after(poll({ check_script: "ls -a" }))).toBeNull();
  expect(after(poll({ diff_mode: "any_change" }))).toBeNull();
  expect(registered({ type: "manual" }, null, now)).toEqual(none);
  const slots = registered(cron("0 9 * * *"), { trigger: poll(), state }, now);
  expect(slots).toEqual({
    ...none,
    last_check_at: "2026-11-23T08:59:59.500Z",
    last_result: "2026-11-23T09:00:00.000Z",
  });
});

type Look = [now: string, slot: string | null];

/** Checks a trigger at several times. Expects the given slot, or null, to fire at each time. */
function looks(
  trigger: CronTrigger,
  from: string,
  expected: Look[],
  missed?: "one" | "skip",
): void {
  let state = registered(trigger, null, at(from));
  const found = expected.map(([now]): Look => {
    const settled = settleSlots(trigger, state, missed, at(now));
    state = { ...state, ...settled.state };
    if (settled.slot) expect(state.last_fire_at).toBe(settled.slot);
    return [now, settled.slot && settled.slot.replace(":00.000Z", "Z")];
  });
  expect(found).toEqual(expected);
}

test("a slot fires once, at its minute, for any offset and drift of the timer", () => {
  looks(cron("*/5 * * * *"), "2026-01-01T10:01:00Z", [
    ["2026-01-01T10:04:59.999Z", null],
    ["2026-01-01T10:05:00Z", "2026-01-01T10:05Z"],
    ["2026-01-01T10:05:00.001Z", null],
    ["2026-01-01T10:05:59Z", null],
    ["2026-01-01T10:10:59.999Z", "2026-01-01T10:10Z"],
    ["2026-01-01T10:15:07Z", "2026-01-01T10:15Z"],
  ]);
});

test("of several missed slots the latest fires, or none", () => {
  const down: Look[] = [
    ["2026-01-01T10:00:30Z", "2026-01-01T10:00Z"],
    ["2026-01-01T22:30:00Z", "2026-01-01T22:00Z"],
    ["2026-01-01T22:30:01Z", null],
    ["2026-01-01T23:00:59Z", "2026-01-01T23:00Z"],
  ];
  looks(cron("0 * * * *"), "2026-01-01T09:30:00Z", down);
  const skipped = down.map(([now, slot], index): Look => [now, index === 1 ? null : slot]);
  looks(cron("0 * * * *"), "2026-01-01T09:30:00Z", skipped, "skip");
});

test("slots before the registration never fire", () => {
  looks(cron("0 9 * * *"), "2026-01-01T09:00:00Z", [["2026-01-01T09:00:30Z", null]]);
  looks(cron("0 9 * * *"), "2026-01-01T09:30:00Z", [
    ["2026-01-02T08:59:00Z", null],
    ["2026-01-02T09:00:00Z", "2026-01-02T09:00Z"],
  ]);
});

test("a skipped local time is left out, and a repeated local time fires at its first occurrence", () => {
  looks(cron("30 2 * * *", "Europe/Berlin"), "2026-03-28T12:00:00Z", [
    ["2026-03-29T00:30:00Z", null],
    ["2026-03-29T01:00:00Z", null],
    ["2026-03-29T01:30:00Z", null],
    ["2026-03-30T00:30:00Z", "2026-03-30T00:30Z"],
  ]);
  looks(cron("30 2 * * *", "Europe/Berlin"), "2026-10-24T12:00:00Z", [
    ["2026-10-25T00:30:10Z", "2026-10-25T00:30Z"],
    ["2026-10-25T01:30:10Z", null],
    ["2026-10-26T01:30:10Z", "2026-10-26T01:30Z"],
  ]);
});

test("a clock change forward and back causes no burst", () => {
  looks(cron("0 * * * *"), "2026-01-01T09:30:00Z", [
    ["2026-01-01T10:00:00Z", "2026-01-01T10:00Z"],
    ["2030-01-01T10:20:00Z", "2030-01-01T10:00Z"],
    ["2026-01-01T10:30:00Z", null],
    ["2026-01-01T10:59:00Z", null],
    ["2026-01-01T11:00:00Z", "2026-01-01T11:00Z"],
  ]);
});
