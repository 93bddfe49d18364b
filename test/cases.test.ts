import { expect, test } from "bun:test";
import { join } from "node:path";

const source = JSON.stringify(join(import.meta.dir, "../scripts/tests.ts"));
const inTest = `console.log((await import(${source})).cases);`;
const inGate = `const { testEnvironment: env } = await import(${source});
Bun.spawnSync([process.execPath, "-e", ${JSON.stringify(inTest)}], { env, stdout: "inherit" });`;

/** The cases that a test of the gate generates, where the gate has this in its environment. */
async function casesWith(more: Record<string, string>): Promise<string> {
  const { TEST_CASES: _cases, CI: _ci, ...rest } = process.env;
  const child = Bun.spawn([process.execPath, "-e", inGate], { env: { ...rest, ...more } });
  return (await child.stdout.text()).trim();
}

test("the tests generate all their cases where CI or TEST_CASES asks for them, and else some", async () => {
  expect(await casesWith({})).toBe("some");
  expect(await casesWith({ CI: "1" })).toBe("all");
  expect(await casesWith({ TEST_CASES: "all" })).toBe("all");
});

const table = JSON.stringify(join(import.meta.dir, "../packages/workflow/test/fixtures/cases.ts"));
const inTable = `const { some } = await import(${table});
const all = [0, 1, 2, 3, 4, 5, 6];
console.log(JSON.stringify([some(all), some(all, 0, 2), some(all, 3), some(all, 3, 1)]));`;

/** What a table of seven cases is cut to. */
function cutWith(TEST_CASES: string): number[][] {
  const env = { ...process.env, TEST_CASES };
  const { stdout } = Bun.spawnSync([process.execPath, "-e", inTable], { env });
  return JSON.parse(stdout.toString()) as number[][];
}

test("a table of cases is whole where all are asked for, and is never empty", () => {
  const all = [0, 1, 2, 3, 4, 5, 6];
  expect(cutWith("all")).toEqual([all, all, all, all]);
  expect(cutWith("some")).toEqual([[0], [2], [0, 3, 6], [1, 4]]);
});
