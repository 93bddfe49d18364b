import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildBundle } from "../src/bundle/build.ts";
import { checkBytes } from "../src/bundle/check.ts";
import { SourceMap } from "../src/bundle/source-map.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "kept-names-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function write(at: string, files: Record<string, string>): Promise<void> {
  for (const [name, text] of Object.entries(files)) await writeFile(join(at, name), text);
}

test("classes and functions keep their names, even when two modules use the same name", async () => {
  await write(folder, {
    "other.ts": `export class RateLimited extends Error {}
      export const lint = () => 1; export function test() {}
      export default class extends Error {}`,
    "named.ts":
      "export class Own { static name = 'own'; } export class Call { static name() { return 1; } }",
    "flow.ts": `import Unnamed, { lint as otherLint, RateLimited as Other, test as otherTest } from "./other.ts";
      import { Call as OtherCall, Own as OtherOwn } from "./named.ts";
      class RateLimited extends Error {
        constructor(message: string) { super(message); this.name = new.target.name; }
      }
      const Late = class extends RateLimited {};
      const Inner = class Named extends Other {};
      const lint = () => 2;
      function test() {}
      class Own { static name = "mine"; }
      class Call { static name() { return 2; } }
      export const descriptor = { description: "x", roles: {} };
      export async function* run() {
        const errors = [new RateLimited("a"), new Late("b")].map(({ name }) => name);
        const names = [Other, Inner, Unnamed, lint, otherLint, test, otherTest, Own, OtherOwn].map((one) => one.name);
        const own = [Call.name(), OtherCall.name()];
        return { returnCode: 0, summary: JSON.stringify([errors, names, own]) };
      }`,
  });
  const { code, map } = await buildBundle(join(folder, "flow.ts"));
  const bundle = join(folder, "names.esm.js");
  await writeFile(bundle, code);
  const { run } = (await import(bundle)) as {
    run: () => AsyncGenerator<never, { summary: string }>;
  };
  const { value } = await run().next();
  expect(JSON.parse(value.summary)).toEqual([
    ["RateLimited", "Late"],
    ["RateLimited", "Named", "default", "lint", "lint", "test", "test", "mine", "own"],
    [2, 1],
  ]);
  expect(checkBytes(code, bundle)).toEqual([]);
  expect(SourceMap.isMap(map)).toBe(true);
});
