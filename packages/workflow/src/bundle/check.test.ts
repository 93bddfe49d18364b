import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { checkBytes, checkSource } from "./check.ts";

const sound = "export const descriptor = {};\nexport async function* run() {}\n";
const findings = (source: string) => checkSource(source, "b.esm.js");
const rules = (source: string) => findings(source).map(({ rule }) => rule);
/** Returns `rule line:column` of each finding in a source that is otherwise valid. */
const places = (source: string) =>
  findings(`${source}\n${sound}`).map(({ rule, line, column }) => `${rule} ${line}:${column}`);

describe("a valid bundle has no findings", () => {
  const spellings: Record<string, string> = {
    "run and descriptor are exported where they are declared": sound,
    "exported at the end": "const descriptor={};var run=make();export { run, descriptor };",
    "exported under other names": "const w=1,d={};export {w as run,d as descriptor}",
    "exported under string names": 'const w=1,d={};export {w as "run",d as "descriptor"}',
    "exported before they are declared": "export{run,descriptor};const run=1,descriptor={};",
    "exported from a pattern": "export const {a:run,b:[descriptor]=[]}={}",
    "exported among others": `${sound}export class Other {}`,
  };
  for (const [name, source] of Object.entries(spellings)) {
    test(name, () => expect(findings(source)).toEqual([]));
  }

  const syntax: Record<string, string> = {
    "a hashbang": "#!/usr/bin/env bun",
    "a byte order mark": "\ufeff",
    "import attributes": 'import a from "node:fs" with { type: "x" };',
    "top-level await and import.meta": "await f(import.meta.url);",
    using: "{ using a = f(); await using b = g(); }",
    "class fields, private names and static blocks":
      "class A { #x = 1; static y = 2; static { this.z = 3 } has(o) { return #x in o } }",
    "the v flag, modifiers and named groups": "/[\\p{L}--[a-z]]/v.test(x); /(?i:a)b/; /(?<g>a)/d;",
    "logical assignment, bigint, separators": "a ??= b || 1_000n; c ||= d?.[0];",
    "every line break in a text": 'const s = "\u2028\u2029\\0"; `\r\n`;',
  };
  for (const [name, source] of Object.entries(syntax)) {
    test(name, () => expect(findings(`${source}\n${sound}`)).toEqual([]));
  }

  test("built-ins with and without their prefix, and re-exports of them", () => {
    const source = `import fs from "fs"; import * as p from "node:fs/promises"; import "node:test";
      export { join } from "path"; export * as os from "node:os"; export * from "node:util";`;
    expect(findings(source + sound)).toEqual([]);
  });
});

describe("a breach of a rule is reported with its position", () => {
  const cases: [string, string, string[]][] = [
    ["a dynamic import", 'const a = import("node:fs");', ["no-dynamic-import 1:11"]],
    ["a package", 'import z from "zod";', ["builtins-only 1:15"]],
    ["a relative file", 'export * from "./x.js";', ["builtins-only 1:15"]],
    [
      "a module that only Bun has",
      'import { Database } from "bun:sqlite";',
      ["builtins-only 1:26"],
    ],
    ["Bun itself", '\n  import "bun";', ["builtins-only 2:10"]],
    ["a URL", 'import "https://example.com/x.js";', ["builtins-only 1:8"]],
    ["a module that needs the prefix node:", 'import "sqlite";', ["builtins-only 1:8"]],
    ["a default export", "export default 1;", ["no-default-export 1:1"]],
    [
      "a default export by renaming",
      "const d = 1; export { d as default };",
      ["no-default-export 1:28"],
    ],
    ["an import() after Unicode spaces", "// \u2028\u3000import(x)", ["no-dynamic-import 2:2"]],
    ["an import after a byte order mark", '\ufeffimport "zod";', ["builtins-only 1:9"]],
    ["an import after a hashbang", '#!/bin/bun\nimport "zod";', ["builtins-only 2:8"]],
    [
      "a re-exported default export",
      'export { default } from "node:fs";',
      ["no-default-export 1:10"],
    ],
  ];
  for (const [name, source, expected] of cases) {
    test(name, () => expect(places(source)).toEqual(expected));
  }

  test("the message says that only Bun has a module of Bun", () => {
    expect(findings(`import "bun:ffi"; ${sound}`)[0]?.message).toBe(
      'imports "bun:ffi", which only Bun has',
    );
  });

  test("a missing export is reported last", () => {
    expect(findings("export const run = 1;\n")).toEqual([
      {
        rule: "named-exports",
        message: "missing export descriptor",
        file: "b.esm.js",
        line: 2,
        column: 1,
      },
    ]);
    expect(rules("")).toEqual(["named-exports", "named-exports"]);
  });

  test("with `export * from` a missing export is not reported before the module is loaded", () => {
    expect(rules('export * from "node:test"; export const descriptor = {}')).toEqual([]);
  });

  test("a syntax error is reported with its line and column", () => {
    expect(findings("const a = 1;\nconst b = = 2;")).toEqual([
      { rule: "syntax", message: "Unexpected =", file: "b.esm.js", line: 2, column: 11 },
    ]);
    expect(rules("type A = string; const b: A = 1")).toEqual(["syntax"]);
    expect(rules("<div/>")).toEqual(["syntax"]);
    expect(rules("return 1; export {}")).toEqual(["syntax"]);
    expect(rules("#!/usr/bin/env node\n#!/twice")).toEqual(["syntax"]);
  });

  test("all findings are reported in order of position", () => {
    const source = 'import "zod";\nexport default import("y");';
    expect(rules(source)).toEqual([
      "builtins-only",
      "no-default-export",
      "no-dynamic-import",
      "named-exports",
      "named-exports",
    ]);
  });
});

describe("only code counts as a dynamic import, not texts, comments and names", () => {
  const allowed = [
    "const o = { import: 2 }; o.import('y'); class A { import() {} }",
    "// import('y')\nconst s = \"import('y') export default\";",
    "const r = /import\\('x'\\)/; `import('y')`;",
    "if (a) /import('y')/.test(b);",
  ];
  for (const source of allowed) test(source, () => expect(places(source)).toEqual([]));

  const refused = ["`${import('x')}`;", "a = b / import('x') / c;", "type\nX = import('x');"];
  for (const source of refused) {
    test(source, () =>
      expect(rules(`var a,b,c,type,X;${source}\n${sound}`)).toEqual(["no-dynamic-import"]),
    );
  }
});

describe("bytes", () => {
  const bytes = (text: string) => new TextEncoder().encode(text);

  test("invalid UTF-8 is reported with its position", () => {
    const bad = new Uint8Array([...bytes("// é\nab"), 0xff, ...bytes(sound)]);
    expect(checkBytes(bad, "b.esm.js")).toEqual([
      { rule: "utf-8", message: "byte 8 is not valid UTF-8", file: "b.esm.js", line: 2, column: 3 },
    ]);
    expect(checkBytes(new Uint8Array([0xc3]), "b")[0]?.rule).toBe("utf-8");
    expect(checkBytes(new Uint8Array([0xed, 0xa0, 0x80]), "b")[0]?.rule).toBe("utf-8");
  });

  test("a byte order mark and a literal replacement character are valid UTF-8", () => {
    expect(checkBytes(bytes(`\ufeff// \ufffd \u0000\n${sound}`), "b")).toEqual([]);
  });

  test("random bytes never throw, and each finding has a position", () => {
    const anything = fc.oneof(
      fc.uint8Array({ maxLength: 300 }),
      fc.string({ unit: "binary" }).map(bytes),
    );
    fc.assert(
      fc.property(anything, (input) => {
        for (const { line, column } of checkBytes(input, "b")) {
          expect(line).toBeGreaterThan(0);
          expect(column).toBeGreaterThan(0);
        }
      }),
    );
  });

  test("random tokens never throw", () => {
    const words =
      "import export default from as run type ( ) { } [ ] ; , . * ` ${ = => ' \" / x 1 " +
      "class static # async function* yield await using const 'node:module' import.meta typeof ?. \n";
    const text = fc.array(fc.constantFrom(...words.split(" ")), { maxLength: 40 });
    fc.assert(
      fc.property(text, (parts) => {
        expect(Array.isArray(findings(`${parts.join(" ")}\n${sound}`))).toBe(true);
      }),
      { numRuns: 2000 },
    );
  });

  test("too deep nesting is reported as a syntax error", () => {
    expect(rules("(".repeat(100_000))).toEqual(["syntax"]);
    expect(rules(`x = ${"[".repeat(50_000)}${"]".repeat(50_000)}`)).toEqual(["syntax"]);
    expect(rules(`${"a+".repeat(200_000)}a`)[0]).toBeDefined();
  });
});
