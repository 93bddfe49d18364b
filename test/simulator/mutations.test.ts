import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { mutated, mutations } from "./mutations.ts";
import { some } from "../../packages/workflow/test/fixtures/cases.ts";

const program = join(import.meta.dir, "simulate.ts");
/** Whatever changes the calls of the product changes what a seed does: then others are tried. */
const mostSchedules = 4_000;

async function finds(name: string, seed: number, schedules: number): Promise<string | null> {
  const args = [
    "--mutation",
    name,
    "--seed",
    `${seed}`,
    "--schedules",
    `${schedules}`,
    "--jobs",
    "1",
  ];
  const child = Bun.spawn([process.execPath, program, ...args], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const stdout = await new Response(child.stdout).text();
  await child.exited;
  return /^FAILED seed (\d+): .*/m.exec(stdout)?.[0] ?? null;
}

test.each([...mutations])("the defect $name is planted in the code as it is", (mutation) => {
  expect(mutated(mutation).length).toBeGreaterThan(0);
});

describe.each(some(mutations, 4))("the defect $name", ({ name, seed }) => {
  test("is found by its seed, or by one of the first", async () => {
    const found = (await finds(name, seed, 1)) ?? (await finds(name, 1, mostSchedules));
    expect(found).toStartWith("FAILED seed ");
  }, 300_000);
});
