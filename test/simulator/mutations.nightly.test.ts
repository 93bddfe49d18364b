import { describe, expect, test } from "bun:test";
import { mutations } from "./mutations.ts";
import { simulated } from "./simulated.ts";

/**
 * Number of seeds to try. A change of the product's calls changes the schedule of each seed, so the recorded seed may
 * no longer find the defect.
 */
const mostSchedules = 4_000;

async function failureOf(name: string, seed: number, schedules: number): Promise<string> {
  const planted = ["--mutation", name, "--jobs", "1"];
  const range = ["--seed", `${seed}`, "--schedules", `${schedules}`];
  return (await simulated(...planted, ...range)).stdout;
}

describe.each([...mutations])("the defect $name", ({ name, seed }) => {
  test("is found by its seed or by one of the first seeds", async () => {
    const found = await failureOf(name, seed, 1);
    const failure = found.startsWith("FAILED") ? found : await failureOf(name, 1, mostSchedules);
    expect(failure).toStartWith("FAILED seed ");
  });
});

test("the report of a failure has the fewest faults that cause it", async () => {
  const stdout = await failureOf("glued-tail", 1, mostSchedules);
  const [failed, faults] = stdout.split("\n");
  expect(failed).toStartWith("FAILED seed ");
  // One fault suffices: a torn tail or a short write. The minimal set may have up to three.
  expect(faults).toMatch(/^ {2}faults: \w+@\d+(, \w+@\d+)?(, \w+@\d+)?$/);
});
