import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "bun:test";
import { appendFileSync, existsSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { collectGarbage } from "../src/local/upkeep/gc.ts";
import { verifyStore } from "../src/local/upkeep/verify.ts";
import { registerBundle } from "../src/local/workflows.ts";
import { readRegistry } from "../src/registry/read.ts";
import { bundlePath, bundlesDir, registryPath, type Root } from "../src/disk/paths.ts";
import { openRoot } from "../src/disk/root.ts";
import { buildProgram } from "./fixtures/built.ts";
import { some } from "./fixtures/cases.ts";

const programs = mkdtempSync(join(tmpdir(), "registry-programs-"));
const built: Record<string, string> = {};
beforeAll(async () => {
  for (const name of ["register", "collect"])
    built[name] = await buildProgram(join(import.meta.dir, "registry", `${name}.ts`), programs);
});
afterAll(() => rmSync(programs, { recursive: true, force: true }));

let root: Root;
beforeEach(() => {
  root = openRoot({ path: mkdtempSync(join(tmpdir(), "registry-")) });
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

/** Starts one of the programs in `test/registry/`. */
function start(program: string, ...args: string[]) {
  return Bun.spawn([process.execPath, "--no-env-file", built[program] ?? "", ...args], {
    stdout: "pipe",
    stderr: "pipe",
  });
}

const names = async () => [...(await readRegistry(root)).keys()].toSorted();

test("names registered concurrently by eight processes are all kept", async () => {
  const processes = Array.from({ length: 8 }, (_, i) => start("register", root, `p${i}`, "4"));
  const wanted: string[] = [];
  for (const [i, each] of processes.entries()) {
    expect(await new Response(each.stderr).text()).toBe("");
    expect(await each.exited).toBe(0);
    wanted.push(...[0, 1, 2, 3].map((n) => `p${i}-${n}`));
  }
  expect(await names()).toEqual(wanted.toSorted());
  expect((await verifyStore(root)).problems).toEqual([]);
}, 180_000);

test("twenty processes that add to one name concurrently all succeed", async () => {
  const processes = Array.from({ length: 20 }, (_, i) =>
    start("register", root, `p${i}`, "1", "w"),
  );
  for (const each of processes) expect(await new Response(each.stderr).text()).toBe("");
  expect(((await readRegistry(root)).get("w")?.history ?? []).length).toBe(19);
}, 180_000);

test("a change that failed to sync is durable once repeated", async () => {
  const bytes = new TextEncoder().encode("// one");
  const add = () =>
    registerBundle(root, "one", bytes, { descriptor: { description: "", roles: {} } });
  const { hash } = await add();
  const paths = [registryPath(root), bundlePath(root, hash)];
  const inodes = () => paths.map((path) => statSync(path).ino);
  const before = inodes();
  expect(await add()).toEqual({ name: "one", hash, unchanged: true });
  // The files are new, and were synced before their rename. The files of the failed sync no longer exist.
  expect(inodes().some((inode, at) => inode === before[at])).toBe(false);
});

test("a registry of a newer version keeps its bundles from gc", async () => {
  const bytes = new TextEncoder().encode("// one");
  const { hash } = await registerBundle(root, "one", bytes, {
    descriptor: { description: "", roles: {} },
  });
  appendFileSync(registryPath(root), "pins:\n  - other\n");
  for (const dryRun of [true, false]) {
    const refused = await collectGarbage(root, { dryRun }).catch(
      (error: { code: string }) => error.code,
    );
    expect(refused).toBe("REGISTRY_NEWER");
  }
  expect(existsSync(bundlePath(root, hash))).toBe(true);
});

test("a name registered by many concurrent processes keeps every version", async () => {
  const versions = Array.from({ length: 20 }, (_, i) => new TextEncoder().encode(`// ${i}`));
  const descriptor = { description: "", roles: {} };
  const added = await Promise.all(
    versions.map((bytes) => registerBundle(root, "w", bytes, { descriptor })),
  );
  const found = (await readRegistry(root)).get("w");
  const kept = [found, ...(found?.history ?? [])].flatMap((version) => version ?? []);
  expect(kept.map(({ hash }) => hash).toSorted()).toEqual(added.map(({ hash }) => hash).toSorted());
  const times = kept.map(({ timestamp }) => timestamp);
  expect(times).toEqual([...new Set(times)].toSorted((a, b) => b - a));
});

test("a process killed during registration loses no acknowledged name", async () => {
  const said = new Set<string>();
  for (const round of some(
    Array.from({ length: 12 }, (_, at) => at),
    3,
  )) {
    const child = start("register", root, `r${round}`, "1000");
    const reader = child.stdout.getReader();
    const wanted = round % 8;
    for (let text = ""; ; ) {
      const { value, done } = await reader.read();
      if (value) text += new TextDecoder().decode(value);
      const whole = text.split("\n").slice(0, -1);
      for (const name of whole) said.add(name);
      if (done || whole.length > wanted) break;
    }
    child.kill("SIGKILL");
    await child.exited;
    const registered = new Set(await names());
    expect([...said].filter((name) => !registered.has(name))).toEqual([]);
    const { problems } = await verifyStore(root);
    expect(problems).toEqual([]);
  }
}, 180_000);

test("garbage collection during registrations never collects a needed bundle", async () => {
  const collector = start("collect", root, "60");
  const writers = ["a", "b"].map((prefix) => start("register", root, prefix, "40"));
  for (const each of writers) expect(await each.exited).toBe(0);
  expect(await new Response(collector.stderr).text()).toBe("");
  expect(await collector.exited).toBe(0);
  const registry = await readRegistry(root);
  expect(registry.size).toBe(80);
  const missing = [...registry.values()].filter(({ hash }) => !existsSync(bundlePath(root, hash)));
  expect(missing).toEqual([]);
  expect(readdirSync(bundlesDir(root)).filter((name) => name.endsWith(".esm.js"))).toHaveLength(80);
}, 180_000);
