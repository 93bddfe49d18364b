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
