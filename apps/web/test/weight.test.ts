import { beforeAll, expect, test } from "bun:test";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { buildConsole, dist } from "./built.ts";

beforeAll(buildConsole, 180_000);

const kib = 1024;

/** Size limit of the first page, compressed: HTML, styles, scripts. */
const firstPage = 350 * kib;

const pageItself = (): string => readFileSync(join(dist, "index.html"), "utf8");

const packed = (path: string): number => Bun.gzipSync(readFileSync(join(dist, path))).length;

test("the first page weighs at most 350 KiB compressed", () => {
  const html = pageItself();
  const named = [...html.matchAll(/(?:src|href)="\/([^"]+)"/g)].map(([, path = ""]) => path);
  expect(named.length).toBeGreaterThan(3);
  const all = new Set(["index.html", ...named, ...named.flatMap((path) => importsOf(path))]);
  const weight = [...all].reduce((sum, path) => sum + packed(path), 0);
  expect(weight).toBeLessThan(firstPage);
});

test("no lazily loaded part weighs more than 150 KiB compressed", () => {
  const heavy = readdirSync(join(dist, "assets"))
    .filter((name) => !pageItself().includes(name))
    .map((name) => ({ name, weight: packed(`assets/${name}`) }))
    .filter(({ weight }) => weight > 150 * kib);
  expect(heavy).toEqual([]);
});

test("the page uses no other host and no inline code", () => {
  const html = pageItself();
  expect(html).not.toMatch(/https?:/);
  expect(html).not.toMatch(/<style|\son\w+=|<script(?![^>]*\ssrc=)/);
  expect(statSync(join(dist, "index.html")).size).toBeLessThan(4 * kib);
});

/** The static imports of a script, recursively. */
function importsOf(path: string, seen = new Set<string>()): string[] {
  if (seen.has(path) || !path.endsWith(".js")) return [];
  seen.add(path);
  const text = readFileSync(join(dist, path), "utf8");
  const named = [...text.matchAll(/(?:from|import)\s*"\.\/([^"]+\.js)"/g)].map(
    ([, name = ""]) => `assets/${name}`,
  );
  return [path, ...named.flatMap((one) => importsOf(one, seen))];
}
