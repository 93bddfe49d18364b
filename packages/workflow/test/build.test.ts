import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { buildBundle, buildModule } from "../src/bundle/build.ts";
import { checkBytes } from "../src/bundle/check.ts";
import { hashOf } from "../src/bundle/hash.ts";
import { SourceMap } from "../src/bundle/source-map.ts";
import { isWorkflowError, type WorkflowError } from "../src/contract/error.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "build-test-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

test("a program in a folder whose name has two dots builds the same bytes", async () => {
  const codes = [];
  for (const name of ["a..b", "ab"]) {
    const own = join(folder, name, "own.ts");
    await mkdir(dirname(own), { recursive: true });
    await writeFile(own, 'export { one } from "./one.ts";');
    await writeFile(join(folder, name, "one.ts"), "export const one = () => 'one';");
    const code = `import { one } from "own"; ${exports_} console.log(one());`;
    const built = await buildModule({ code, resolve: { own } }, "", join(folder, "flow.json"));
    codes.push(new TextDecoder().decode(built.code));
  }
  expect(codes[0]).toContain("one");
  expect(codes[0]).toBe(codes[1] as string);
});

const exports_ = `export const descriptor = { description: "x", roles: {} };
export async function* run() { return { returnCode: 0, summary: "" }; }
`;
/** A project with all features that could make a build depend on its folder. */
const project: Record<string, string> = {
  "flow.ts": `import { rows } from "./lib/rows.ts";
    import { here, list, mode } from "old";
    import { readFile } from "node:fs/promises";
    import settings from "./settings.json";
    export const descriptor = { description: settings.title + mode, roles: {} };
    export const run = async function* (input: { prompt: string }) {
      const { tmpdir } = await import("node:os");
      yield { role: "a", content: await readFile("x", "utf8"), meta: { rows, here, list: list(), t: tmpdir(),
        late: (await import("./lib/late.ts")).late, dir: import.meta.dirname, env: process.env.NODE_ENV } };
      return { returnCode: 0, summary: input.prompt };
    };`,
  "lib/rows.ts": "export enum Rows { a, b } export const rows: Rows[] = [Rows.b];",
  "lib/late.ts": 'import { rows } from "./rows.ts"; export const late = () => rows;',
  "settings.json": '{ "title": "t" }',
  "node_modules/old/package.json": '{ "name": "old", "main": "index.js" }',
  "node_modules/old/index.js": `const fs = require("fs"); exports.list = () => fs.readdirSync(__dirname);
    exports.here = __filename; exports.mode = process.env.NODE_ENV;
    if (require.main === module) exports.list();`,
};

async function write(at: string, files: Record<string, string>): Promise<void> {
  for (const [name, text] of Object.entries(files)) {
    const path = join(at, name);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text);
  }
}
const build = async (files: Record<string, string>, entry = "flow.ts") => {
  await write(folder, files);
  const built = await buildBundle(join(folder, entry));
  return { ...built, text: new TextDecoder().decode(built.code) };
};
const hashFrom = async (path: string) => hashOf((await buildBundle(path)).code);
async function errorOf(promise: Promise<unknown>): Promise<WorkflowError> {
  const error: unknown = await promise.then(
    () => new Error("the build succeeded"),
    (thrown: unknown) => thrown,
  );
  if (!isWorkflowError(error)) throw error;
  return error;
}
const load = async (code: Uint8Array) => {
  const path = join(folder, `${hashOf(code)}.esm.js`);
  await writeFile(path, code);
  return (await import(path)) as { run: (input: object) => AsyncGenerator };
};

describe("the same source gives the same hash", () => {
  test("in every folder, at every depth, through links, from every folder and environment", async () => {
    const places = ["one", "a/b/c/d/e/f/another-name"].map((name) => join(folder, name));
    for (const place of places) await write(place, project);
    const [one, deep] = places as [string, string];
    await symlink(deep, join(folder, "linked"));
    await symlink(join(one, "flow.ts"), join(folder, "linked.ts"));
    const hash = await hashFrom(join(one, "flow.ts"));
    expect(await hashFrom(join(deep, "flow.ts"))).toBe(hash);
    expect(await hashFrom(join(folder, "linked", "flow.ts"))).toBe(hash);
    expect(await hashFrom(join(folder, "linked.ts"))).toBe(hash);

    const before = { cwd: process.cwd(), mode: process.env.NODE_ENV };
    process.env.NODE_ENV = "development";
    try {
      for (const cwd of [one, "/"]) {
        process.chdir(cwd);
        expect(await hashFrom(join(one, "flow.ts"))).toBe(hash);
      }
      process.chdir(one);
      expect(await hashFrom("flow.ts")).toBe(hash);
    } finally {
      process.chdir(before.cwd);
      process.env.NODE_ENV = before.mode;
    }
  });

  test("with any files in the folders above the project", async () => {
    await write(folder, { "p/flow.ts": project["flow.ts"] ?? "", "p/package.json": "{}" });
    await write(join(folder, "p"), project);
    const hash = await hashFrom(join(folder, "p/flow.ts"));
    const paths = JSON.stringify({ compilerOptions: { paths: { old: ["./evil.ts"] } } });
    await write(folder, {
      "tsconfig.json": paths,
      "evil.ts": "export const here = 1",
      ".env": "NODE_ENV=test",
    });
    expect(await hashFrom(join(folder, "p/flow.ts"))).toBe(hash);
  });

  test("in concurrent builds", async () => {
    await write(folder, project);
    const hashes = await Promise.all(
      Array.from({ length: 6 }, () => hashFrom(join(folder, "flow.ts"))),
    );
    expect(new Set(hashes).size).toBe(1);
  });

  test("the folder's path is not in the code or the map", async () => {
    const { text, map } = await build(project);
    expect(text).not.toContain(folder);
    expect(map).not.toContain(folder);
    expect(text).not.toContain("debugId");
    expect((JSON.parse(map) as { sources: string[] }).sources.toSorted()).toEqual([
      "flow.ts",
      "lib/late.ts",
      "lib/rows.ts",
      "node_modules/old/index.js",
      "settings.json",
    ]);
  });

  test("another source gives another hash", async () => {
    await write(folder, project);
    const hash = await hashFrom(join(folder, "flow.ts"));
    await write(folder, { "lib/late.ts": "export const late = () => 7;" });
    expect(await hashFrom(join(folder, "flow.ts"))).not.toBe(hash);
  });
});

describe("a built bundle", () => {
  test("follows the bundle rules and runs", async () => {
    await writeFile(join(folder, "x"), "text of x");
    const { code } = await build(project);
    expect(checkBytes(code, "flow")).toEqual([]);
    const { run } = await load(code);
    const before = process.cwd();
    process.chdir(folder);
    try {
      const { value } = await run({ prompt: "p" }).next();
      const { content, meta } = value as { content: string; meta: Record<string, unknown> };
      expect(content).toBe("text of x");
      expect(meta).toMatchObject({ rows: [1], t: tmpdir(), dir: folder, env: "production" });
      expect(meta.here).toStartWith(folder);
    } finally {
      process.chdir(before);
    }
  });

  test("has a map that leads back to the author's line, past the lines that the build adds", async () => {
    const { text, map } = await build({
      "flow.ts": `${exports_}\nexport const os = await import("node:os"),\n  here = __dirname;\nthrow new Error("find me");`,
    });
    const lines = text.split("\n");
    const line = lines.findIndex((each) => each.includes("find me"));
    const column = lines[line]?.indexOf("throw") ?? -1;
    expect(line).toBeGreaterThan(0);
    const place = { line: line + 1, column: column + 1 };
    const original = new SourceMap(map, "src").original(place)?.at;
    expect(original).toMatchObject({ file: "src/flow.ts", line: 6, column: 1 });
  });

  test("keeps a hashbang first", async () => {
    const { code, text } = await build({
      "flow.ts": `#!/usr/bin/env bun\n${exports_}export const d = __dirname;`,
    });
    expect(text).toStartWith("#!/usr/bin/env bun\n");
    expect(checkBytes(code, "flow")).toEqual([]);
  });

  test("may import @uncaged/workflow with nothing installed", async () => {
    const { text, code } = await build({
      "flow.ts": `import { END } from "@uncaged/workflow"; ${exports_} export const e = END;`,
    });
    expect(text).toContain("__end__");
    expect(text).not.toContain("@uncaged");
    expect(checkBytes(code, "flow")).toEqual([]);
    await write(join(folder, "a/b/c"), {
      "flow.ts": await Bun.file(join(folder, "flow.ts")).text(),
    });
    expect(await hashFrom(join(folder, "a/b/c/flow.ts"))).toBe(hashOf(code));
  });

  test("may import the entry points for front ends and readers with nothing installed", async () => {
    const imports = ["interpreter", "records"].map((as) => `import "@uncaged/workflow/${as}";`);
    expect((await build({ "flow.ts": imports.join("") + exports_ })).text).not.toContain(
      "@uncaged",
    );
  });

  test("uses the @uncaged/workflow that the project has installed", async () => {
    const { text } = await build({
      "flow.ts": `import { END } from "@uncaged/workflow"; ${exports_} export const e = END;`,
      "node_modules/@uncaged/workflow/package.json": '{"name":"@uncaged/workflow","main":"i.js"}',
      "node_modules/@uncaged/workflow/i.js": 'export const END = "the installed one";',
    });
    expect(text).toContain("the installed one");
  });

  test("follows the project's own tsconfig, beside the source or beside package.json", async () => {
    const files = {
      "package.json": "{}",
      "tsconfig.json": '{ // a comment\n "extends": "./config/base.json" }',
      "config/base.json": '{ "compilerOptions": { "paths": { "@lib/*": ["../lib/*"] } } }',
      // A `paths` entry also finds the lent package.
      "lib/a.ts": 'import { END } from "@uncaged/workflow"; export const a = `from lib${END}`;',
      "src/flow.ts": `import { a } from "@lib/a"; ${exports_} export const b = a;`,
    };
    expect((await build(files, "src/flow.ts")).text).toContain("from lib");
  });
});

describe("a failed build is one error with its position", () => {
  const at = (name: string) => join(folder, name);

  test("a syntax error", async () => {
    const { code, kind, message } = await errorOf(
      build({ "flow.ts": "const a = 1;\nconst b: = 2;" }),
    );
    expect([code, kind]).toEqual(["BUILD_FAILED", "failed"]);
    expect(message).toBe(`${at("flow.ts")}:2:10: Unexpected =`);
  });

  test("all errors are in the details", async () => {
    const { message, details } = await errorOf(
      build({ "flow.ts": 'import a from "./nope.ts";\nimport z from "zod"; a(z);' }),
    );
    expect(message).toBe(`${at("flow.ts")}:1:15: Could not resolve: "./nope.ts" (and 1 more)`);
    expect(details).toHaveLength(2);
    expect(details?.[1]).toBe(`${at("flow.ts")}:2:15: Could not resolve: "zod"`);
  });

  test("a name that a module does not export", async () => {
    const files = { "flow.ts": 'import { b } from "./a.ts"; b();', "a.ts": "export const a = 1;" };
    const { message, hint } = await errorOf(build(files));
    expect(message).toContain("flow.ts:1:10: No matching export");
    expect(hint).toBe("see what that module exports");
  });

  test("a misspelt name, with the right name", async () => {
    const own = {
      "flow.ts": 'import { createRoleModeratr } from "@uncaged/workflow"; createRoleModeratr();',
    };
    expect((await errorOf(build(own))).hint).toBe("did you mean createRoleModerator?");
    const text = "export const reviewer = 1; export type Other = string;";
    const files = { "flow.ts": 'import { reviewr } from "./a.ts"; reviewr();', "a.ts": text };
    expect((await errorOf(build(files))).hint).toBe("did you mean reviewer?");
  });

  test.each([
    ["zod/mini", "install it in the project of the source: npm install zod"],
    ["@scope/one/part", "install it in the project of the source: npm install @scope/one"],
    ["../nope", "correct the path: it is relative to the importing file"],
  ])("a missing import of %s, with a hint", async (name, hint) => {
    const error = await errorOf(build({ "flow.ts": `import a from "${name}"; a();` }));
    expect(error.hint).toBe(hint);
  });

  test("a module that only Bun has", async () => {
    const { message } = await errorOf(
      build({ "flow.ts": 'import { file } from "bun"; file("x");' }),
    );
    expect(message).toBe(
      `${at("flow.ts")}:1:22: imports "bun", which only Bun has: import Node's built-in modules only`,
    );
  });

  for (const name of ["a.wasm", "a.node", "a.html", "a.css"]) {
    test(`a second file (${name})`, async () => {
      const files = {
        "flow.ts": `import a from "./${name}"; ${exports_} export { a };`,
        [name]: "a{}",
      };
      const { code, message } = await errorOf(build(files));
      expect(code).toBe("BUILD_FAILED");
      expect(message).toContain("the build produced a second file");
    });
  }

  test("only @uncaged/workflow resolves without being installed", async () => {
    for (const name of ["@uncaged/workflow/host", "@uncaged/workflow-agents", "yaml", "acorn"]) {
      const { message } = await errorOf(
        build({ "flow.ts": `import * as a from "${name}"; export { a };` }),
      );
      expect(message).toContain(`Could not resolve: "${name}"`);
    }
  });

  test("a broken tsconfig", async () => {
    const { code } = await errorOf(build({ "flow.ts": exports_, "tsconfig.json": "{" }));
    expect(code).toBe("BUILD_FAILED");
  });

  test("paths are reported as the user gave them", async () => {
    await write(folder, { "src/flow.ts": "const = 1" });
    const before = process.cwd();
    process.chdir(folder);
    try {
      expect((await errorOf(buildBundle("src/flow.ts"))).message).toStartWith("src/flow.ts:1:7: ");
      process.chdir("src");
      expect((await errorOf(buildBundle("flow.ts"))).message).toStartWith("flow.ts:1:7: ");
    } finally {
      process.chdir(before);
    }
  });
});

describe("a build runs no code of the source", () => {
  const evil = (name: string) => `import { writeFileSync } from "node:fs";
    export function make() { writeFileSync(${JSON.stringify(join(folder, name))}, ""); return 1; }`;
  const attributes = [
    'with { type: "macro" }',
    'with { "type": "m\\u0061cro" }',
    'assert { type: "macro" }',
  ];
  for (const attribute of attributes) {
    test(`a macro is refused: ${attribute}`, async () => {
      const files = {
        "flow.ts": `import { part } from "./part.ts"; ${exports_} export { part };`,
        "part.ts": `import { make } from "./evil.ts" ${attribute};\nexport const part = make();`,
        "evil.ts": evil("ran"),
      };
      const { code, message, hint } = await errorOf(build(files));
      expect(existsSync(join(folder, "ran"))).toBe(false);
      expect(code).toBe("BUILD_FAILED");
      expect(message).toContain("part.ts:2:21: Macros are disabled");
      expect(hint).toContain("without type macro");
    });
  }

  test("code in bunfig, .env and package.json settings does not run", async () => {
    const { text } = await build({
      "flow.ts": `${exports_} export const e = process.env.SECRET; import { gql } from "gql"; export const g = gql();`,
      "bunfig.toml":
        'preload = ["./pre.ts"]\n[define]\n"process.env.SECRET" = "\'defined\'"\n[bundle]\nmacros = {}',
      "pre.ts": `import { writeFileSync } from "node:fs"; writeFileSync(${JSON.stringify(join(folder, "ran"))}, "");`,
      ".env": "SECRET=leaked",
      "package.json": '{ "name": "p", "bun": { "macros": { "gql": { "gql": "./evil.ts" } } } }',
      "evil.ts": evil("ran").replace("make", "gql"),
      "node_modules/gql/package.json": '{ "name": "gql", "main": "i.js" }',
      "node_modules/gql/i.js": 'export const gql = () => "plain";',
    });
    expect(existsSync(join(folder, "ran"))).toBe(false);
    expect(text).toContain("process.env.SECRET");
    expect(text).toContain("plain");
  });

  test("no files are left behind", async () => {
    const own = async () =>
      (await readdir(tmpdir())).filter((name) => name.startsWith("uncaged-build-"));
    const before = new Set(await own());
    await build({ "flow.ts": exports_ });
    await errorOf(build({ "flow.ts": "const" }));
    expect((await own()).filter((name) => !before.has(name))).toEqual([]);
    expect((await readdir(folder)).toSorted()).toEqual(["flow.ts"]);
  });
});

test("a .md or .txt file is imported as its text, with any content, to the same hash everywhere", async () => {
  const text = "# A prompt\r\n\n*Write* `code` for {name}: <b>ä</b> ${x} \\n\n";
  const files = {
    "flow.ts": `import prompt from "./prompts/plan.md"; import plain from "./a.txt";
      import same from "./prompts/plan.md" with { type: "text" };
      export const descriptor = { description: prompt + plain + String(prompt === same), roles: {} };
      export async function* run() { return { returnCode: 0, summary: "" }; }`,
    "prompts/plan.md": text,
    "a.txt": "plain & simple",
  };
  const { code } = await build(files);
  const path = join(folder, "built.esm.js");
  await writeFile(path, code);
  const { descriptor } = (await import(path)) as { descriptor: { description: string } };
  expect(descriptor.description).toBe(`${text}plain & simpletrue`);
  await write(join(folder, "elsewhere/deep"), files);
  expect(await hashFrom(join(folder, "elsewhere/deep/flow.ts"))).toBe(hashOf(code));
});
