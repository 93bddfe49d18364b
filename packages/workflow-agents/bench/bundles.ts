// What an agent adds to a bundle: its size, and the time that a fresh process takes to load it. `none`
// is the same workflow without an agent. What it does not measure: the first call's connection.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { buildBundle } from "../../workflow/src/bundle/build.ts";

const names = ["none", "scripted", "anthropic", "openai"];
const times = 21;
const folder = mkdtempSync(join(tmpdir(), "uncaged-bench-"));

/** Milliseconds to load a bundle in a fresh process that did nothing before. */
function load(path: string): number {
  const code = `const began = performance.now(); await import(${JSON.stringify(path)});
    console.log(performance.now() - began);`;
  const { stdout } = Bun.spawnSync([process.execPath, "--no-env-file", "-e", code], {
    cwd: folder,
    env: {},
  });
  return Number(stdout.toString());
}

const paths = new Map<string, string>();
for (const name of names) {
  const source = fileURLToPath(new URL(`../test/bundles/${name}.ts`, import.meta.url));
  const { code } = await buildBundle(source);
  const path = join(folder, `${name}.esm.js`);
  await Bun.write(path, code);
  paths.set(name, path);
  const zipped = gzipSync(code).byteLength / 1024;
  console.log(`${name}: ${(code.byteLength / 1024).toFixed(1)} KB, ${zipped.toFixed(1)} KB zipped`);
}

const taken = new Map<string, number[]>(names.map((name) => [name, []]));
for (let n = 0; n < times; n += 1) {
  for (const [name, path] of paths) taken.get(name)?.push(load(path));
}
for (const [name, figures] of taken) {
  const median = figures.toSorted((a, b) => a - b)[Math.floor(times / 2)] ?? Number.NaN;
  console.log(`${name}: loads in ${median.toFixed(1)} ms`);
}
rmSync(folder, { recursive: true });
