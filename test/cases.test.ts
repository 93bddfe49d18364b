import { expect, test } from "bun:test";
import { join } from "node:path";

const table = JSON.stringify(join(import.meta.dir, "../packages/workflow/test/fixtures/cases.ts"));
const inTable = `const { some } = await import(${table});
const all = [0, 1, 2, 3, 4, 5, 6];
console.log(JSON.stringify([some(all), some(all, 0, 2), some(all, 3), some(all, 3, 1)]));`;

/** Returns the remaining cases of tables with seven cases. */
function cutWith(TEST_CASES: string): number[][] {
  const env = { ...process.env, TEST_CASES };
  const { stdout } = Bun.spawnSync([process.execPath, "-e", inTable], { env });
  return JSON.parse(stdout.toString()) as number[][];
}

test("TEST_CASES=all keeps a whole table, and no table is ever empty", () => {
  const all = [0, 1, 2, 3, 4, 5, 6];
  expect(cutWith("all")).toEqual([all, all, all, all]);
  expect(cutWith("some")).toEqual([[0], [2], [0, 3, 6], [1, 4]]);
});
