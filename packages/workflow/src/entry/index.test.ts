import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "entry-point-"));
});
afterAll(() => rm(folder, { recursive: true }));

/** Builds a source as a workflow's author would, and returns the bundle's text. */
async function bundled(source: string): Promise<string> {
  const entry = join(folder, "entry.ts");
  await Bun.write(entry, source);
  const built = await Bun.build({
    entrypoints: [entry],
    minify: true,
    target: "node",
    format: "esm",
  });
  return (await Promise.all(built.outputs.map((output) => output.text()))).join("");
}

const importOf = (module: string): string => JSON.stringify(join(import.meta.dir, module));

test("a bundle with only createRoleModerator is below 8 KB and does not import modules", async () => {
  const text = await bundled(`
    import { createRoleModerator, END } from ${importOf("index.ts")};
    export const run = createRoleModerator({ roles: {}, moderator: () => END });
  `);
  expect(text).toContain("async function*");
  expect(text.length).toBeLessThan(8 * 1024);
  expect(new Bun.Transpiler().scanImports(text)).toEqual([]);
});

test("a bundle with only durable is below 24 KB", async () => {
  const text = await bundled(`
    import { durable } from ${importOf("index.ts")};
    export const run = durable(async function* (step) { return yield* step("a", () => "a"); });
  `);
  expect(text.length).toBeLessThan(24 * 1024);
});

test("the entry points for authors, front ends, readers and tests do not import modules of a runtime", async () => {
  for (const module of ["index.ts", "interpreter.ts", "records.ts", "testing.ts"]) {
    const text = await bundled(`export * from ${importOf(module)};`);
    expect(text.length).toBeGreaterThan(4000);
    expect(new Bun.Transpiler().scanImports(text)).toEqual([]);
  }
});
