import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { StackMapper } from "./source-map.ts";

const folder = mkdtempSync(join(tmpdir(), "stack-test-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const source = `
const inner = (name: string): never => {
  throw new TypeError("no " + name);
};
const middle = (name: string) => inner(name);
export const outer = () => middle("network");
`;

/** What a built, minified bundle of the source throws. */
async function thrown(
  hash: string,
  withMap: boolean,
): Promise<{ error: Error; mapper: StackMapper }> {
  const entry = join(folder, "flow.ts");
  writeFileSync(entry, source);
  const { outputs } = await Bun.build({
    entrypoints: [entry],
    minify: true,
    sourcemap: "external",
  });
  const paths = { bundle: join(folder, `${hash}.esm.js`), map: join(folder, `${hash}.map`) };
  for (const output of outputs) {
    if (output.kind === "entry-point") writeFileSync(paths.bundle, await output.text());
    else if (withMap) writeFileSync(paths.map, await output.text());
  }
  const { outer } = (await import(paths.bundle)) as { outer: () => never };
  try {
    return outer();
  } catch (error) {
    return { error: error as Error, mapper: new StackMapper(paths, hash) };
  }
}

test("a stack names the author's own lines, and the one that threw with its text", async () => {
  const { error, mapper } = await thrown("A000000000000", true);
  const { name, message, stack } = error;
  const found = mapper.rewrite({ name, message, stack });
  expect(found.at).toMatchObject({ line: 3, text: 'throw new TypeError("no " + name);' });
  expect(found.at?.file.endsWith("flow.ts")).toBe(true);
  expect(found.stack).toMatch(/flow\.ts:3:\d+/);
  expect(found.stack).not.toContain(`${folder}/A0`);
});

test("without a source map it names the bundle by its hash, and no folder", async () => {
  const { error, mapper } = await thrown("B000000000000", false);
  const { name, message, stack } = error;
  const found = mapper.rewrite({ name, message, stack });
  expect(found.at).toBeUndefined();
  expect(found.stack).toMatch(/B000000000000\.esm\.js:1:\d+/);
  expect(found.stack).not.toContain(folder);
});
