import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspectBundle } from "../src/bundle/inspect.ts";
import { SourceMap } from "../src/bundle/source-map.ts";
import { isWorkflowError } from "../src/contract/error.ts";
import { until } from "./fixtures/until.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "inspect-test-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const end =
  "export const descriptor = { description: 'x', roles: {} };\nexport async function* run() {}\n";

type Options = Parameters<typeof inspectBundle>[1];

async function inspect(source: string, options: Options = {}) {
  const path = join(folder, "b.esm.js");
  await writeFile(path, source);
  return inspectBundle(path, { file: "b.esm.js", ...options });
}

async function refusal(source: string, options: Options = {}) {
  const error: unknown = await inspect(source, options).then(
    () => new Error("the bundle was accepted"),
    (thrown: unknown) => thrown,
  );
  if (!isWorkflowError(error)) throw error;
  return { code: error.code, message: error.message };
}

const failed = (message: string) => ({ code: "BUNDLE_LOAD_FAILED", message });
const isAlive = (pid: number) => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};
/** Whether a process runs. Unlike in `isAlive`, a zombie process counts as dead. */
const isRunning = (pid: number) =>
  isAlive(pid) &&
  !/^[ZX]/.test(Bun.spawnSync(["ps", "-o", "stat=", "-p", String(pid)]).stdout.toString());

describe("a valid bundle", () => {
  test("returns its descriptor", async () => {
    const roles = "{ a: { description: 'A', schema: { type: 'object' } } }";
    const source = `export const descriptor = { description: "x", roles: ${roles} };
      const make = () => async function* () {}; export const run = make();`;
    expect(await inspect(source)).toEqual({
      description: "x",
      roles: { a: { description: "A", schema: { type: "object" } } },
    });
  });

  test("may wait at its top level, read import.meta, and bind run", async () => {
    const source = `await new Promise((done) => setTimeout(done, 20));
      if (!import.meta.url.endsWith("b.esm.js")) throw new Error(import.meta.url);
      async function* go() {} export const run = go.bind(null);
      export const descriptor = { description: "", roles: {} };`;
    expect(await inspect(source)).toEqual({ description: "", roles: {} });
  });

  test("may print 100 MB, and write to the channel's descriptor", async () => {
    const source = `import { writeSync } from "node:fs"; const b = Buffer.alloc(1e6, 120);
      for (let i = 0; i < 50; i++) { process.stdout.write(b); process.stderr.write(b); }
      writeSync(3, '{"descriptor":1}\\n{"descriptor":2}\\nhalf a line\\n'); ${end}`;
    expect(await inspect(source)).toEqual({ description: "x", roles: {} });
  });

  test("may replace built-ins that the check uses", async () => {
    const source = `import fs from "node:fs"; import { syncBuiltinESMExports } from "node:module";
      JSON.stringify = () => "no"; fs.writeSync = () => 0; syncBuiltinESMExports();
      globalThis.setImmediate = () => {}; globalThis.process = undefined; ${end}`;
    expect(await inspect(source)).toEqual({ description: "x", roles: {} });
  });
});

describe("the process that loads a bundle", () => {
  test("has no environment, no arguments, no input, and its own empty folder", async () => {
    const source = `import { readdirSync, readFileSync } from "node:fs";
      const seen = { env: Object.keys(process.env), argv: process.argv.length, cwd: readdirSync("."),
        home: process.cwd() === ${JSON.stringify(process.cwd())}, stdin: readFileSync(0, "utf8") };
      export const descriptor = { description: JSON.stringify(seen), roles: {} };
      export async function* run() {}`;
    expect(JSON.parse((await inspect(source)).description)).toEqual({
      env: [],
      argv: 2,
      cwd: [],
      home: false,
      stdin: "",
    });
  });

  test("ignores the configuration and the .env of the user's folder", async () => {
    await writeFile(join(folder, "bunfig.toml"), 'preload = ["./evil.ts"]');
    await writeFile(
      join(folder, "evil.ts"),
      `await Bun.write(${JSON.stringify(join(folder, "ran"))}, "")`,
    );
    await writeFile(join(folder, ".env"), "SECRET=1");
    const before = process.cwd();
    process.chdir(folder);
    try {
      await inspect(`if (process.env.SECRET) throw new Error("read"); ${end}`);
    } finally {
      process.chdir(before);
    }
    expect(existsSync(join(folder, "ran"))).toBe(false);
  });

  test("leaves no folder behind, even when the bundle hides a file in the folder", async () => {
    const own = async () =>
      (await readdir(tmpdir())).filter((n) => n.startsWith("uncaged-inspect-"));
    const before = new Set(await own());
    await inspect(
      `import fs from "node:fs"; fs.mkdirSync("a"); fs.writeFileSync("a/b", ""); ${end}`,
    );
    await refusal("throw 1");
    expect((await own()).filter((name) => !before.has(name))).toEqual([]);
  });

  test("ends the processes that the bundle started", async () => {
    const pidFile = join(folder, "pid");
    const source = `import { spawn } from "node:child_process"; import { writeFileSync } from "node:fs";
      const child = spawn("/bin/sleep", ["100"], { stdio: "ignore" });
      writeFileSync(${JSON.stringify(pidFile)}, String(child.pid)); ${end}`;
    await inspect(source, { sandbox: "off" });
    const pid = Number(await Bun.file(pidFile).text());
    expect(pid).toBeGreaterThan(1);
    await until(() => !isRunning(pid));
  });
});

test("the process that loads a bundle ends when its parent process is killed", async () => {
  const pidFile = join(folder, "pid");
  const path = join(folder, "b.esm.js");
  await writeFile(
    path,
    `import { writeFileSync } from "node:fs";
    writeFileSync(${JSON.stringify(pidFile)}, String(process.pid)); for (;;);`,
  );
  const module = JSON.stringify(join(import.meta.dir, "../src/bundle/inspect.ts"));
  const program = `(await import(${module})).inspectBundle(${JSON.stringify(path)}, { sandbox: "off" })`;
  const asking = Bun.spawn([process.execPath, "-e", program], {
    stdio: ["ignore", "ignore", "ignore"],
  });
  const pidOf = async () =>
    Number(
      await Bun.file(pidFile)
        .text()
        .catch(() => ""),
    );
  await until(async () => (await pidOf()) > 0);
  const pid = await pidOf();
  expect(isAlive(pid)).toBe(true);
  asking.kill("SIGKILL");
  await asking.exited;
  await until(() => !isRunning(pid));
});

describe("a bundle that fails to load is one error with its position", () => {
  const throwing: [string, string, string][] = [
    ["throws", "const a = 1;\n  throw new Error('boom\\nbang');", "b.esm.js:2:13: boom bang"],
    [
      "throws in a function of its own",
      `function f() { throw new TypeError("t") }\n${end} f();`,
      "b.esm.js:1:26: t",
    ],
    ["throws a value that is not an error", "throw 'text'", "b.esm.js: text"],
    [
      "throws a value that can't be shown",
      "throw { toString() { throw 1 } }",
      "b.esm.js: a value that can't be shown was thrown",
    ],
    [
      "reads its environment",
      "export const home = process.env.HOME.length",
      "b.esm.js:1:33: undefined is not an object (evaluating 'process.env.HOME.length')",
    ],
    [
      "rejects without a catch",
      `${end}Promise.reject(new Error("later"));`,
      "b.esm.js:3:20: later",
    ],
    ["is not JavaScript", "const a = 1;\nconst b = = 2;", "b.esm.js:2:11: Unexpected ="],
    [
      "imports a missing name",
      'import { nope } from "node:fs"; nope;',
      "b.esm.js: Export named 'nope' not found in module 'node:fs'.",
    ],
    [
      "exits",
      "process.exit(0)",
      "b.esm.js: the process ended with code 0 while loading the bundle",
    ],
    [
      "aborts",
      "process.abort()",
      "b.esm.js: the process was ended by SIGABRT while loading the bundle",
    ],
    [
      "kills itself",
      "process.kill(process.pid, 'SIGKILL')",
      "b.esm.js: the process was ended by SIGKILL while loading the bundle",
    ],
  ];
  for (const [name, source, message] of throwing) {
    test(`a bundle that ${name}`, async () =>
      expect(await refusal(source)).toEqual(failed(message)));
  }

  const endless: [string, string][] = [
    ["loops", "for (;;);"],
    ["waits forever", `await new Promise(() => {}); ${end}`],
    [
      "waits forever with a timer",
      `setInterval(() => {}, 1000); await new Promise(() => {}); ${end}`,
    ],
    ["catches SIGTERM", "process.on('SIGTERM', () => {}); for (;;);"],
    [
      "has a getter that loops",
      `export const descriptor = { get description() { for (;;); }, roles: {} };
      export async function* run() {}`,
    ],
    ["loops on exit", "process.on('exit', () => { for (;;); }); process.exit(0)"],
  ];
  for (const [name, source] of endless) {
    test(`a bundle that ${name}`, async () => {
      expect(await refusal(source, { timeoutMs: 300 })).toEqual(
        failed("b.esm.js: was not loaded within 0.3 s"),
      );
    });
  }

  test.if(process.platform === "linux")("a bundle that allocates memory without end", async () => {
    const source = "const all = []; for (;;) all.push(new Uint8Array(1 << 20).fill(1));";
    expect(await refusal(source, { maxMemory: 200 << 20 })).toEqual(
      failed("b.esm.js: used more than 200 MiB to load"),
    );
  });

  test("a bundle with a source map is reported with the author's own line", async () => {
    await mkdir(join(folder, "out"));
    const path = join(folder, "out", "b.esm.js");
    await writeFile(path, "throw new Error('x')");
    // Column 7 of line 1 comes from line 5, column 3 of flow.ts.
    const text = JSON.stringify({ version: 3, sources: ["flow.ts"], names: [], mappings: "AAIE" });
    const map = new SourceMap(text, "src");
    const error: unknown = await inspectBundle(path, { map }).catch((thrown: unknown) => thrown);
    expect(isWorkflowError(error) && error.message).toBe("src/flow.ts:5:3: x");
  });

  test("a missing file", async () => {
    const path = join(folder, "none.esm.js");
    const error: unknown = await inspectBundle(path, { file: "n" }).catch(
      (thrown: unknown) => thrown,
    );
    expect(isWorkflowError(error) && error.code).toBe("BUNDLE_LOAD_FAILED");
  });
});

describe("exports are checked on the loaded module", () => {
  const descriptor = "export const descriptor = { description: '', roles: {} };";
  const exported: [string, string, string][] = [
    [
      "a function",
      `${descriptor} export function run() {}`,
      "run is a plain function that returns undefined, not an async generator",
    ],
    [
      "a function that returns a promise",
      `${descriptor} export const run = () => Promise.resolve();`,
      "run is a plain function that returns an instance of Promise, not an async generator",
    ],
    [
      "a function with a fake type tag",
      `${descriptor} export function run() {} run[Symbol.toStringTag] = "AsyncGeneratorFunction";`,
      "run is a plain function that returns undefined, not an async generator",
    ],
    ["a missing run", descriptor, "run is undefined, not an async generator function"],
    [
      "a missing descriptor",
      "export async function* run() {}",
      "descriptor is undefined, not an object",
    ],
    ["a default export", `${end} export default 1;`, "default export not allowed"],
  ];
  for (const [name, source, message] of exported) {
    test(`${name} is refused`, async () => {
      expect(await refusal(source)).toEqual({
        code: "BUNDLE_REFUSED",
        message: `b.esm.js: ${message}`,
      });
    });
  }

  test("a function that returns a generator is a valid run, even if it throws without a thread", async () => {
    const generator = "async function* go(input) { return input.params.text; }";
    for (const run of ["(input, options) => go(input)", "(input) => go(input.params.text)"]) {
      const source = `${descriptor} ${generator} export const run = ${run};`;
      expect(await inspect(source)).toMatchObject({ roles: {} });
    }
  });

  test("a descriptor with an invalid schema is refused with the schema's path", async () => {
    const source = `export async function* run() {}
      export const descriptor = { description: "", roles: { a: { description: "", schema: { type: 1 } } } };`;
    const { code, message } = await refusal(source);
    expect(code).toBe("BAD_DESCRIPTOR");
    expect(message).toStartWith("b.esm.js: descriptor.roles.a.schema.type ");
  });
});

describe("a bundle may require Node's own modules", () => {
  const esbuild = `var __require = /* @__PURE__ */ ((x) => typeof require !== "undefined" ? require : typeof Proxy !== "undefined" ? new Proxy(x, {
    get: (a, b) => (typeof require !== "undefined" ? require : a)[b]
  }) : x)(function(x) {
    if (typeof require !== "undefined") return require.apply(this, arguments);
    throw Error('Dynamic require of "' + x + '" is not supported');
  });`;
  const create = 'import { createRequire } from "node:module";';
  const allowed: Record<string, string> = {
    "as a bundler writes it for Node": `${create} var p = createRequire(import.meta.url); p("fs"); p.main == p.module;`,
    "as Bun writes it": 'var p = import.meta.require; p("node:fs/promises");',
    "as esbuild writes it": `${esbuild} __require("fs");`,
    "by a name that is computed": `${create} createRequire(import.meta.url)(["f", "s"].join(""));`,
    "by a plain require": 'require("path"); typeof require;',
    "by the name of its own function":
      "function load(require) { return require('zod') } load((x) => x);",
  };
  for (const [name, source] of Object.entries(allowed)) {
    test(name, async () => expect(await inspect(`${source}\n${end}`)).toMatchObject({ roles: {} }));
  }

  const elsewhere = JSON.stringify(join(import.meta.dir, "x.js"));
  const refused: [name: string, source: string, module: string][] = [
    ["a package", `${create}\n  createRequire(${elsewhere})("zod");`, "zod"],
    ["a file", `${create}\n  createRequire(import.meta.url)("./x.cjs");`, "./x.cjs"],
    ["a module of Bun", '\n  import.meta.require("bun:sqlite");', "bun:sqlite"],
    ["a package by a plain require", '\n  require(["z", "od"].join(""));', "zod"],
    ["a package in a shim", `${esbuild.replaceAll("\n", " ")}\n  __require("ws");`, "ws"],
    ["a package found by require.resolve", '\n  require.resolve("zod");', "zod"],
    ["a package that may be missing", '\n  try { require("zod"); } catch {}', "zod"],
    [
      "a package in run, where run is called",
      '\n  export const run = () => { const zod = require("zod"); return zod.z; };',
      "zod",
    ],
  ];
  for (const [name, source, module] of refused) {
    test(`${name} is refused, with its position`, async () => {
      const rest = source.includes("run") ? end.split("\n", 1)[0] : end;
      const { code, message } = await refusal(`${source}\n${rest}`);
      expect(code).toBe("BUNDLE_REFUSED");
      const text = `requires ${JSON.stringify(module)}, which is not a Node built-in (no-require)`;
      expect(message).toMatch(/^b\.esm\.js:2:\d+: /);
      expect(message.slice(message.indexOf(" ") + 1)).toBe(text);
    });
  }

  test("a function that the engine omits from the stack can't require other modules either", async () => {
    const source = `${end.split("\n", 1)[0]} export const run = () => require("zod");`;
    const message = 'b.esm.js: requires "zod", which is not a Node built-in (no-require)';
    expect(await refusal(source)).toEqual({ code: "BUNDLE_REFUSED", message });
  });
});
