import { beforeAll, expect, test } from "bun:test";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { brotliDecompressSync } from "node:zlib";
import { buildConsole, dist } from "./built.ts";

beforeAll(buildConsole, 180_000);

const kib = 1024;

/** Size limit of the first view, compressed: HTML, styles, scripts. */
const firstView = 160 * kib;

const pageItself = (): string => readFileSync(join(dist, "index.html"), "utf8");

const packed = (path: string): number => Bun.gzipSync(readFileSync(join(dist, path))).length;

test("the first view weighs at most 160 KiB compressed, and its code is one module", () => {
  const html = pageItself();
  const named = [...html.matchAll(/(?:src|href)="\/([^"]+)"/g)].map(([, path = ""]) => path);
  expect(named.length).toBeGreaterThan(3);
  const all = new Set(["index.html", ...named, ...named.flatMap((path) => importsOf(path))]);
  const weight = [...all].reduce((sum, path) => sum + packed(path), 0);
  expect(weight).toBeLessThan(firstView);
  // The other module has a few lines of the bundler.
  const scripts = [...all].filter((path) => path.endsWith(".js") && packed(path) > kib);
  expect(scripts).toEqual([expect.stringMatching(/^assets\/first-/)]);
});

test("no lazily loaded part weighs more than 150 KiB compressed", () => {
  const heavy = readdirSync(join(dist, "assets"))
    .filter((name) => !pageItself().includes(name))
    .map((name) => ({ name, weight: packed(`assets/${name}`) }))
    .filter(({ weight }) => weight > 150 * kib);
  expect(heavy).toEqual([]);
});

test("the page uses no other host and no inline code except its first styles", () => {
  const html = pageItself();
  expect(html).not.toMatch(/https?:/);
  expect(html).not.toMatch(/\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)/);
  expect(html.match(/<style/g)).toHaveLength(1);
  expect(statSync(join(dist, "index.html")).size).toBeLessThan(4 * kib);
});

test("the page paints before its styles and code arrive", () => {
  const [head = "", body = ""] = pageItself().split("<body>");
  expect(head).not.toContain("stylesheet");
  expect(body.indexOf("stylesheet")).toBeGreaterThan(body.indexOf("Loading the console"));
  expect(head.match(/<script(?! type="module")[^>]*>/g)).toEqual(['<script src="/early.js">']);
});

test("the compressed files of the first view have the content of the plain files", () => {
  const names = readdirSync(join(dist, "assets")).filter((name) => name.endsWith(".br"));
  expect(names).toHaveLength(2);
  for (const name of names) {
    const plain = readFileSync(join(dist, "assets", name.replace(/\.br$/, "")));
    const compressed = readFileSync(join(dist, "assets", name));
    expect(brotliDecompressSync(compressed).equals(plain)).toBe(true);
  }
});

test("the early request of the first rows equals the request of the list", () => {
  const source = (path: string) => readFileSync(join(dist, "..", path), "utf8");
  const [, asked] = /\?limit=(\d+)"/.exec(source("public/early.js")) ?? [];
  expect(source("src/pages/threads/threads-page.tsx")).toContain(`const firstRows = ${asked};`);
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
