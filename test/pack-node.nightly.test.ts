import { afterAll, beforeAll, expect, test } from "bun:test";
import { cpSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pack } from "../scripts/pack.ts";
import { npmInstall } from "./packed.ts";
import { top } from "./source.ts";

/* Installs the libraries with npm and imports them in each supported version of Node. */
const nodes = { 20: "20.20.2", 22: "22.23.3", 24: "24.21.0" };

const folder = mkdtempSync(join(tmpdir(), "uncaged node "));
const home = join(folder, "home");
const libraries = join(folder, "libraries");
const binaries = join(folder, "nodes");

beforeAll(async () => {
  for (const path of [libraries, binaries]) mkdirSync(path);
  npmInstall(libraries, home, Object.values(await pack()));
  const name = `node-${process.platform}-${process.arch}`;
  const exact = Object.entries(nodes).map(([n, version]) => `node${n}@npm:${name}@${version}`);
  npmInstall(binaries, home, exact);
  cpSync(join(top, "test/fixtures/in-node.mjs"), join(libraries, "in-node.mjs"));
}, 300_000);

afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }));

test.each(Object.entries(nodes))("the libraries work in Node %s", (number, exact) => {
  const node = join(binaries, `node_modules/node${number}/bin/node`);
  const files = join(folder, `files-${number}`);
  mkdirSync(files);
  const done = Bun.spawnSync([node, "in-node.mjs", files], {
    cwd: libraries,
    env: { PATH: join(folder, "nothing"), HOME: home },
    stdin: "ignore",
  });
  const [stdout, stderr] = [done.stdout.toString(), done.stderr.toString()];
  expect({ code: done.exitCode, stderr }).toEqual({ code: 0, stderr: "" });
  expect(JSON.parse(stdout)).toEqual({
    ...{ node: exact, status: "stopped", again: "paused", thread: "completed", cost: 0 },
    ...{ all: [3, 1, 2], by: { k0: 1, k1: 2, k2: 3 }, answer: { ok: true } },
    ...{ child: "completed", text: "[\n  3,\n  1,\n  2\n]", file: "[\n  3,\n  1,\n  2\n]" },
    ...{ planned: ["a.ts"], described: ["planner"] },
    ...{ drawn: ["completed", "salt", "Add a Start node."] },
    host: expect.stringMatching(/^@uncaged\/workflow\/host needs Bun: .*$/),
  });
});
