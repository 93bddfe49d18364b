import { expect, test } from "bun:test";
import { simulated } from "./simulated.ts";

const withoutTimes = (text: string): string => text.replaceAll(/[\d.]+ s,/g, "");

test("a seed replays byte for byte, and another seed gives another schedule", async () => {
  const trace = (seed: string) =>
    simulated("--seed", seed, "--schedules", "3", "--jobs", "1", "--trace");
  const [first, second, other] = await Promise.all([trace("23"), trace("23"), trace("24")]);
  expect(first.code).toBe(0);
  expect(first.stdout.length).toBeGreaterThan(20_000);
  expect(withoutTimes(second.stdout)).toBe(withoutTimes(first.stdout));
  expect(withoutTimes(other.stdout)).not.toBe(withoutTimes(first.stdout));
});

test.each([
  [["--seed", "1.5"], "--seed 1.5 is not a whole number of at least 0"],
  [["--scope", "disk"], "--scope disk is neither all nor workers"],
  [["--mutation", "none"], "no such mutation: none"],
])("%p is refused in one line", async (args, message) => {
  const { stdout, stderr, code } = await simulated(...args);
  expect({ stdout, code }).toEqual({ stdout: "", code: 2 });
  expect(stderr.trim().split("\n")).toHaveLength(1);
  expect(stderr).toStartWith(message);
});

// The stages of the gate run thousands of schedules of both scopes.
test.each(["all", "workers"])("schedules of the scope %p find nothing", async (scope) => {
  const { stdout, code } = await simulated("--scope", scope, "--schedules", "20");
  expect(stdout).toContain("20 schedules from seed 1 on");
  expect(code).toBe(0);
});

test("a failure is printed with its seed and with a command that replays it", async () => {
  const planted = ["--mutation", "unsynced-creation", "--jobs", "1"];
  const { stdout, code } = await simulated(...planted, "--schedules", "50");
  expect(code).toBe(1);
  const [failed = "", , replay = ""] = stdout.split("\n");
  expect(failed).toMatch(/^FAILED seed \d+: /);
  const [, trace, seed = "", ids = ""] =
    /trace (\w+); replay: bun run simulate --seed (\d+) --faults "([\d,]*)"/.exec(replay) ?? [];
  const again = await simulated(...planted, "--seed", seed, "--faults", ids);
  expect(again.stdout).toContain(failed);
  expect(again.stdout).toContain(`trace ${trace}`);
});
