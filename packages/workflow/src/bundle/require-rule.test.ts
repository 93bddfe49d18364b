import { describe, expect, test } from "bun:test";
import { checkBuilt, checkSource } from "./check.ts";

const end = "export const descriptor = {}; export async function* run() {}";
/** What is found in a source; in the same source as a build's output nothing else is. */
function messages(source: string): string[] {
  const found = checkSource(`${source}\n${end}`, "b");
  expect(checkBuilt(`${source}\n${end}`, "b")).toEqual(found);
  return found.map(({ message }) => message);
}

const esbuild = `var __require = /* @__PURE__ */ ((x) => typeof require !== "undefined" ? require : typeof Proxy !== "undefined" ? new Proxy(x, {
  get: (a, b) => (typeof require !== "undefined" ? require : a)[b]
}) : x)(function(x) {
  if (typeof require !== "undefined") return require.apply(this, arguments);
  throw Error('Dynamic require of "' + x + '" is not supported');
});`;
const esbuildMinified = `var i=(r=>typeof require<"u"?require:typeof Proxy<"u"?new Proxy(r,{get:(e,o)=>(typeof require<"u"?require:e)[o]}):r)(function(r){if(typeof require<"u")return require.apply(this,arguments);throw Error('Dynamic require of "'+r+'" is not supported')});`;
const rolldownMinified =
  "var l=(e=>typeof require<`u`?require:typeof Proxy<`u`?new Proxy(e,{get:(e,t)=>(typeof require<`u`?require:e)[t]}):e)(function(e){if(typeof require<`u`)return require.apply(this,arguments);throw Error(`no `+e)});";
const create = 'import { createRequire } from "node:module";';

describe("the require that a bundler makes passes where it names a built-in", () => {
  const shims: Record<string, string> = {
    "Bun, for Node":
      'import{createRequire as b}from"node:module";var p=b(import.meta.url);p("fs");',
    "Bun, for itself": 'var __require = import.meta.require; __require("node:fs");',
    "import.meta.main, as Bun writes it": `${create} var p=createRequire(import.meta.url); if (p.main == p.module) x();`,
    esbuild: `${esbuild} var fs = __require("fs"); if (__require.main === module) x();`,
    "esbuild, minified": `${esbuildMinified} var g=i("fs"); i.main===t&&x();`,
    "esbuild with the usual banner": `import { createRequire as c } from 'module'; const require = c(import.meta.url); ${esbuildMinified} i("fs");`,
    "esbuild, unused": esbuild,
    "Rolldown, for Node": `${create} var r = /* #__PURE__ */ (() => createRequire(import.meta.url))(); r("fs");`,
    "Rolldown, minified": `${rolldownMinified} l(\`fs\`);`,
    webpack: `import { createRequire as w } from "module"; const w_require = w(import.meta.url); var m = { 1: (e) => { e.exports = w_require("path") } };`,
    "webpack, at each use": `import { createRequire as w } from "module"; x.exports = w(import.meta.url)("node:path");`,
    Rollup: `import { createRequire } from 'node:module'; const require$1 = createRequire(import.meta.url); require$1('assert');`,
    "TypeScript, through a namespace": `import * as m from "node:module"; const r = (0, m.createRequire)(import.meta.url); r("os");`,
    "through the default import": `import m from "module"; var r; r = m["createRequire"](import.meta.url); r?.("os"); m.builtinModules;`,
    "declared first and set later": `${create} let a, r; a = 1, r = createRequire(import.meta.url); r("fs");`,
    "asked for, not used": `${create} const r = createRequire(import.meta.url); typeof r; createRequire(u);`,
  };
  for (const [name, source] of Object.entries(shims)) {
    test(name, () => expect(messages(source)).toEqual([]));
  }
});

describe("the require that a bundler makes is refused for anything else", () => {
  const value = "uses require as a value: only a call that names a Node built-in may stand";
  const cases: [string, string, string][] = [
    ["a package", `${esbuild} __require("react");`, 'requires "react", which is no Node built-in'],
    [
      "a package, renamed",
      `${create} const a = createRequire(u), b = a; b("zod");`,
      'requires "zod", which is no Node built-in',
    ],
    [
      "a name that is no literal",
      `${create} const r = createRequire(u); r(name);`,
      "requires a module whose name is no literal",
    ],
    [
      "a template with a hole",
      `${create} const r = createRequire(u); r(\`fs\${x}\`);`,
      "requires a module whose name is no literal",
    ],
    ["no name", "import.meta.require();", "requires a module whose name is no literal"],
    [
      "a computed spelling",
      'import.meta["require"](x);',
      "requires a module whose name is no literal",
    ],
    [
      "a file",
      `${create} createRequire(u)("./x.cjs");`,
      'requires "./x.cjs", which is no Node built-in',
    ],
    ["an argument", `${create} const r = createRequire(u); load(r);`, value],
    ["a property", `${create} const r = createRequire(u); r.resolve("x");`, value],
    ["a computed property", "import.meta.require[x];", value],
    ["a returned value", "function f() { return import.meta.require }", value],
    ["an export", `${create} const r = createRequire(u); export { r };`, value],
    [
      "createRequire passed on",
      `${create} const make = createRequire;`,
      "uses createRequire as a value: only the call of it may stand",
    ],
    ["a shim that does more", esbuild.replace("new Proxy(x", "evil(require, x"), ""],
  ];
  for (const [name, source, message] of cases) {
    test(name, () => {
      const found = messages(source);
      expect(found.length).toBeGreaterThan(0);
      if (message) expect(found).toEqual([message]);
    });
  }

  test("each use is reported once, however often the variable is set", () => {
    const source = `${create} let r = createRequire(a); r = createRequire(b); r("zod");`;
    expect(messages(source)).toHaveLength(1);
  });
});
