import { describe, expect, test } from "bun:test";
import { type Effect, type Known, violations } from "./audit.ts";
import { takeovers } from "./takeover.ts";

/* Tests that the auditor finds errors planted in a valid log. */

const at = (role: string, content: string, pid = 1, timestamp = 0) =>
  JSON.stringify({
    role,
    content,
    meta: role === "__end__" ? { reason: "returned" } : { pid },
    timestamp,
  });
const count = (step: number, pid = 1) => at("count", String(step), pid, step * 10_000 + 5000);
const countOf = (step: number, call: string) =>
  count(step).replace('"pid":1', `"pid":1,"call":"${call}"`);
const end = at("__end__", "counted");
const start = JSON.stringify({ name: "x" });
const sound = [
  start,
  count(0),
  at("__wait__", "go on?"),
  at("__input__", "a"),
  count(1),
  count(2),
  end,
];
const effect = (step: number, pid = 1, when = step * 10_000): Effect => {
  return { thread: "t", step, pid, at: when };
};
const effects = [effect(0), effect(1), effect(2)];
const known: Known = {
  ...{ steps: 3, copied: 0, kill: "none", shown: [], freezes: [] },
  answers: { given: ["a"], acknowledged: ["a"] },
  heldUp: () => 0,
};

test("a valid log has no violation", () => {
  expect(violations(sound, effects, { ...known, shown: sound.slice(0, 3) })).toEqual([]);
  const rerun = [effect(0), effect(1, 2), effect(1), effect(2)];
  expect(violations(sound, rerun, known)).toEqual([]);
  const calls = [{ ...effect(0), call: "a" }, { ...effect(1), call: "a" }, effect(1, 1, 11_000)];
  expect(violations(sound.with(1, countOf(0, "a")), [...calls, effect(2)], known)).toEqual([]);
  const copied = [effect(2)];
  expect(violations(sound, copied, { ...known, copied: 4 })).toEqual([]);
});

describe("the auditor reports", () => {
  const frozen = { ...known, freezes: [{ pid: 1, from: 10_100, to: 14_500 }] };
  const killed = { ...known, kill: "acknowledged" } as const;
  const planted: [string, string[], Effect[], Known][] = [
    ["a lost step", sound.filter((line) => line !== count(1)), effects, known],
    ["a duplicate step", sound.toSpliced(5, 0, count(1)), effects, known],
    ["a missing record", sound.with(4, ""), effects, known],
    ["a log without an end", sound.slice(0, -1), effects, known],
    ["a log with two ends", [...sound, end], effects, known],
    ["a step that starts after its successor", sound, [...effects, effect(1)], known],
    ["a step without an effect", sound, [effect(0), effect(1, 2), effect(2)], known],
    ["an effect beyond the log", sound, [...effects, effect(3), effect(4)], known],
    ["a kill without an effect", sound, effects, killed],
    ["a lost answer", sound.with(3, at("__input__", "b")), effects, known],
    ["a second answer", sound.toSpliced(4, 0, at("__input__", "b")), effects, known],
    [
      "a log that differs from the shown records",
      sound,
      effects,
      { ...known, shown: [start, count(7)] },
    ],
    [
      "a step of a thawed process",
      sound,
      [...effects.slice(0, 2), effect(1, 2, 14_000), effect(2)],
      frozen,
    ],
    [
      "a call that continues after its step was refused",
      sound.with(1, countOf(0, "b")),
      [{ ...effect(0), call: "a" }, { ...effect(1), call: "a" }, effect(2)],
      known,
    ],
  ];
  test.each(planted)("%s", (_what, lines, did, facts) => {
    expect(violations(lines, did, facts)).not.toEqual([]);
  });
});

test("a takeover lasts from the loss of a worker until another worker begins a step", () => {
  const lost = { kind: "kill", from: 1500, to: 1600, lost: 1 };
  const asking = [{ ...effect(0, 1, 1400), asks: true as const }, effect(0, 2, 9000)];
  const threads = new Map([
    ["driven", [effect(0, 1, 1000), effect(0, 2, 1800)]],
    ["of another", [effect(0, 2, 1000), effect(1, 2, 1800)]],
    ["asking", asking],
  ]);
  expect(takeovers(threads, [lost]).get("kill")).toEqual({ alone: [300], among: [] });
  const other = { kind: "server", from: 1700, to: 1900 };
  expect(takeovers(threads, [lost, other]).get("kill")).toEqual({ alone: [], among: [300] });
});
