import { afterAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { AttemptError } from "../contract/event.ts";
import { errorOf } from "../engine/failure.ts";
import { bundlePath, bundlesDir, mapPath, type Root } from "../disk/paths.ts";
import { StackMapper } from "./stack.ts";

const root = mkdtempSync(join(tmpdir(), "stack-test-")) as Root;
mkdirSync(bundlesDir(root));
const sources = mkdtempSync(join(tmpdir(), "stack-sources-"));
afterAll(() => {
  for (const folder of [root, sources]) rmSync(folder, { recursive: true, force: true });
});

const source = `
const inner = (name: string): never => {
  throw new TypeError("no " + name, { cause: new RangeError("deeper") });
};
async function middle(name: string) { await null; return inner(name); }
export const outer = () => middle("network");
export const any = () => Promise.any([middle("a"), middle("b")]);
`;

type MapKind = "own" | "none" | "damaged" | "no text" | "broken mappings";

/** Builds the source to a minified bundle with a hash, calls its function `name`, and returns the rewritten error. */
async function thrown(hash: string, map: MapKind, name = "outer"): Promise<AttemptError> {
  const entry = join(sources, "flow.ts");
  writeFileSync(entry, source);
  const { outputs } = await Bun.build({
    entrypoints: [entry],
    minify: true,
    sourcemap: "external",
    naming: `${hash}.esm.js`,
  });
  for (const output of outputs) {
    const text = await output.text();
    if (output.kind === "entry-point") writeFileSync(bundlePath(root, hash), text);
    else if (map !== "none") writeFileSync(mapPath(root, hash), mapOf(text, map));
  }
  const module = (await import(bundlePath(root, hash))) as Record<string, () => Promise<unknown>>;
  const error: unknown = await module[name]?.().catch((caught: unknown) => caught);
  return errorOf(error, (record) => StackMapper.of(root, hash).rewrite(record, "reader"));
}

function mapOf(text: string, kind: MapKind): string {
  const map = JSON.parse(text) as Record<string, unknown>;
  if (kind === "damaged") return text.slice(0, text.length / 2);
  if (kind === "no text") return JSON.stringify({ ...map, sourcesContent: undefined });
  return kind === "broken mappings" ? JSON.stringify({ ...map, mappings: "A;$$$;A" }) : text;
}

describe("an error of a minified bundle", () => {
  test("has the author's file, line and text, and the original function names", async () => {
    const { at, stack } = await thrown("A000000000000", "own");
    expect(at).toMatchObject({
      line: 3,
      text: 'throw new TypeError("no " + name, { cause: new RangeError("deeper") });',
      frame: { from: 1, lines: source.split("\n").slice(0, 5) },
    });
    expect(at?.file).toEndWith("flow.ts");
    expect(stack).toMatch(
      /at inner \(.*flow\.ts:3:\d+\)\n\s+at (async )?middle \(.*flow\.ts:5:\d+\)/,
    );
    expect(stack).not.toContain(root);
  });

  test("has its cause, with the cause's own line", async () => {
    const { cause } = await thrown("A000000000001", "own");
    expect(cause).toMatchObject({ name: "RangeError", message: "deeper", at: { line: 3 } });
  });

  test("has the errors of an AggregateError, each with its own line", async () => {
    const { name, at, errors } = await thrown("A000000000002", "own", "any");
    expect({ name, at }).toEqual({ name: "AggregateError", at: undefined });
    expect(errors?.map(({ message }) => message)).toEqual(["no a", "no b"]);
    expect(errors?.map((error) => error.at?.line)).toEqual([3, 3]);
  });

  const unmapped: MapKind[] = ["none", "damaged", "broken mappings"];
  test.each(unmapped)(
    "names the bundle by its hash, without a folder (source map: %s)",
    async (kind) => {
      const hash = `B00000000000${unmapped.indexOf(kind)}`;
      const { at, stack } = await thrown(hash, kind);
      expect(at).toMatchObject({ file: `${hash}.esm.js`, line: 1 });
      expect(at?.text).toContain("TypeError");
      expect(stack).toMatch(new RegExp(`${hash}\\.esm\\.js:1:\\d+`));
      expect(stack).not.toContain(root);
    },
  );

  test("has file, line and column without the line's text when the map lacks the sources", async () => {
    const { at } = await thrown("C000000000000", "no text");
    expect(at).toEqual({
      file: expect.stringMatching(/flow\.ts$/),
      line: 3,
      column: expect.any(Number),
    });
  });
});

describe("any thrown value", () => {
  const cyclic = new Error("round");
  cyclic.cause = cyclic;
  const deep = Array.from({ length: 50 }).reduce<Error>(
    (cause, _, n) => new Error(`${n} ${"x".repeat(5000)}`, { cause }),
    new Error("the first"),
  );
  const trap = () => {
    throw new Error("trapped");
  };
  const proxy = new Proxy(new Error(), { get: trap, getPrototypeOf: trap, has: trap });

  test.each([
    cyclic,
    deep,
    proxy,
    "text",
    null,
    undefined,
    Symbol("s"),
    new AggregateError([deep, deep]),
  ])("becomes an error of bounded size with a name and a message (%#)", (value) => {
    const error = errorOf(value, (record) => StackMapper.of(root, "D000000000000").rewrite(record));
    expect([typeof error.name, typeof error.message]).toEqual(["string", "string"]);
    expect(JSON.stringify(error).length).toBeLessThan(10_000);
  });
});
