import { expect, test } from "bun:test";
import { builtinModules } from "node:module";
import { isBuiltin } from "./builtins.ts";

test("Node's modules are allowed with and without their prefix", () => {
  for (const name of ["fs", "fs/promises", "path/posix", "stream/web", "util/types", "crypto"]) {
    expect([name, isBuiltin(name), isBuiltin(`node:${name}`)]).toEqual([name, true, true]);
  }
});

test("modules that need the prefix are refused without it", () => {
  for (const name of ["test", "test/reporters", "sqlite", "sea"]) {
    expect([name, isBuiltin(name), isBuiltin(`node:${name}`)]).toEqual([name, false, true]);
  }
});

test("other modules of the runtime are refused", () => {
  const others = builtinModules.filter((name) => !isBuiltin(name));
  expect(others).toContain("bun:sqlite");
  expect(others.filter((name) => !/^(bun|ws|undici|_|@|node:)/.test(name))).toEqual([]);
});

test("names similar to Node's modules are refused", () => {
  for (const name of [
    "",
    "node:",
    "fs/",
    "FS",
    "node:node:fs",
    "./fs",
    "fs/promises/x",
    "file:fs",
  ]) {
    expect([name, isBuiltin(name)]).toEqual([name, false]);
  }
});
