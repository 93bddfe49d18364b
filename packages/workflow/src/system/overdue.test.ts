import { afterEach, beforeEach, expect, test } from "bun:test";
import { Overdue, whenOverdue } from "./overdue.ts";
import { realSystem } from "./real.ts";
import { useSystem } from "./system.ts";

/** Timers that act when {@link pass} has them act, and a process that waits for its disk or does not. */
let timers: { ms: number; act: () => void }[];
let waits: boolean;
beforeEach(() => {
  timers = [];
  waits = false;
  useSystem({
    ...realSystem,
    clock: {
      ...realSystem.clock,
      after(ms, act) {
        const timer = { ms, act };
        timers.push(timer);
        return () => void (timers = timers.filter((one) => one !== timer));
      },
    },
    processes: { ...realSystem.processes, waitsForDisk: (pid) => pid === 7 && waits },
  });
});
afterEach(() => useSystem(realSystem));

/** Lets timers act until there are none, and gives how many milliseconds they were set to in all. */
function pass(most = Infinity): number {
  let passed = 0;
  for (let n = 0; n < most && timers.length > 0; n += 1) {
    const [{ ms, act }] = timers.splice(0) as [(typeof timers)[0]];
    passed += ms;
    act();
  }
  return passed;
}

test("a process is overdue when it had its time, once", () => {
  let acted = 0;
  whenOverdue(
    5_000,
    () => 7,
    () => (acted += 1),
  );
  expect(pass(9)).toBe(4_500);
  expect(acted).toBe(0);
  expect(pass()).toBe(500);
  expect(acted).toBe(1);
});

test("what a clock leaps by while everything is stopped counts as a tenth of the time", () => {
  const overdue = new Overdue(10_000, () => 7);
  // The timer that was running when the machine was stopped acts at once when it goes on, however late that is.
  pass(1);
  expect([overdue.is, timers[0]?.ms]).toEqual([false, 1_000]);
  pass(8);
  expect(overdue.is).toBe(false);
  pass();
  expect(overdue.is).toBe(true);
});

test("a process that waits for its disk has six times as long, and one that did for a while has that much more", () => {
  waits = true;
  let acted = 0;
  const act = () => (acted += 1);
  whenOverdue(1_000, () => 7, act);
  expect(pass()).toBe(6_000);
  whenOverdue(1_000, () => 7, act);
  pass(6);
  waits = false;
  expect(pass()).toBe(900);
  waits = true;
  whenOverdue(1_000, () => null, act);
  expect(pass()).toBe(1_000);
  expect(acted).toBe(3);
});

test("what is no longer expected is never overdue", () => {
  let acted = 0;
  const cancel = whenOverdue(
    1_000,
    () => null,
    () => (acted += 1),
  );
  pass(3);
  cancel();
  const overdue = new Overdue(1_000, () => null);
  overdue.end();
  expect([pass(), acted, overdue.is]).toEqual([0, 0, false]);
});

test("a process that sleeps waits for no disk, and one that is gone does not either", () => {
  const { processes } = realSystem;
  const sleeper = Bun.spawn(["sleep", "60"]);
  expect(processes.waitsForDisk(sleeper.pid)).toBe(false);
  sleeper.kill();
  expect(processes.waitsForDisk(2 ** 30)).toBe(false);
});
