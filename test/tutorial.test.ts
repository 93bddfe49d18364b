import { afterAll, expect, test } from "bun:test";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { typeErrorsIn } from "./samples.ts";
import { top } from "./source.ts";

/* Creates the files of the tutorial in a separate folder. */
const folder = join(top, ".cache/tutorial");
const page = readFileSync(join(top, "docs/tutorial/your-own-workflow.md"), "utf8");
const written = [...page.matchAll(/```ts (\S+)\n([\s\S]*?)```/g)].map(
  ([, name = "", text = ""]) => ({
    name,
    text,
  }),
);

rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
for (const { name, text } of written) writeFileSync(join(folder, name), text);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("the tutorial's reader writes three files", () => {
  expect(written.map(({ name }) => name)).toEqual(["workflow.ts", "site.ts", "workflow.test.ts"]);
});

test("the tutorial's files have no type errors", () => {
  expect(typeErrorsIn(folder)).toBe("");
});

test("the tutorial's test passes", () => {
  const { exitCode, stderr } = Bun.spawnSync([process.execPath, "test", "./workflow.test.ts"], {
    cwd: folder,
  });
  expect([exitCode, stderr.toString()]).toEqual([0, expect.stringContaining("3 pass")]);
});
