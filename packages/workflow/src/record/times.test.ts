import { expect, test } from "bun:test";
import { timesAt, Waited } from "./times.ts";

const hour = 3_600_000;
const known = (createdAt: number, records: [role: string, timestamp: number][]) => {
  const waited = new Waited(createdAt);
  for (const [role, timestamp] of records) waited.take({ role, timestamp });
  return { createdAt, updatedAt: records.at(-1)?.[1] ?? createdAt, waitedMs: waited.ms };
};

test("time before a step counts as worked, time before an answer as waited", () => {
  const answered = known(1_000, [
    ["a", 1_300],
    ["__wait__", 1_400],
    ["__input__", 1_400 + hour],
    ["b", 1_500 + hour],
    ["__end__", 1_600 + hour],
  ]);
  const times = { workedMs: 600, waitedMs: hour };
  expect(timesAt({ status: "completed", ...answered }, 9 * hour)).toEqual(times);
});

test("a running thread adds to workedMs, a waiting thread to waitedMs; every other status adds to neither", () => {
  const worked = known(0, [["a", 100]]);
  expect(timesAt({ status: "running", ...worked }, 150)).toEqual({ workedMs: 150, waitedMs: 0 });
  expect(timesAt({ status: "paused", ...worked }, 150)).toEqual({ workedMs: 100, waitedMs: 0 });
  expect(timesAt({ status: "interrupted", ...worked }, 150)).toMatchObject({ workedMs: 100 });
  const asked = known(0, [["__wait__", 100]]);
  expect(timesAt({ status: "waiting", ...asked }, 150)).toEqual({ workedMs: 100, waitedMs: 50 });
  expect(
    timesAt(
      {
        status: "killed",
        ...known(0, [
          ["__wait__", 100],
          ["__end__", 150],
        ]),
      },
      900,
    ),
  ).toEqual({ workedMs: 100, waitedMs: 50 });
});

test("a fork counts from its own start, and a clock that is set back does not subtract time", () => {
  const fork = known(5_000, [
    ["a", 1_000],
    ["__wait__", 1_100],
    ["__input__", 4_000],
    ["b", 5_200],
  ]);
  expect(timesAt({ status: "running", ...fork }, 5_300)).toEqual({ workedMs: 300, waitedMs: 0 });
  const waits = known(5_000, [["__wait__", 1_100]]);
  expect(timesAt({ status: "waiting", ...waits }, 5_300)).toEqual({ workedMs: 0, waitedMs: 300 });
  const back = known(1_000, [
    ["a", 2_000],
    ["__wait__", 500],
    ["__input__", 700],
    ["b", 2_100],
  ]);
  expect(timesAt({ status: "running", ...back }, 0)).toEqual({ workedMs: 1_100, waitedMs: 0 });
});
