import { afterEach, beforeEach, expect, test } from "bun:test";
import { execFileSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Handle } from "./handle.ts";

let top = "";
beforeEach(() => {
  top = realpathSync(mkdtempSync(join(tmpdir(), "uncaged-handle-")));
  mkdirSync(join(top, "folder/sub"), { recursive: true });
  mkdirSync(join(top, "victim"));
  writeFileSync(join(top, "victim/file"), "the victim's");
  writeFileSync(join(top, "folder/file"), "own");
});
afterEach(() => rmSync(top, { recursive: true, force: true }));

test("a handle has a path without links, and keeps its folder when the path is swapped", () => {
  symlinkSync(join(top, "folder"), join(top, "link"));
  using handle = Handle.open(join(top, "link"));
  expect(handle.path).toBe(join(top, "folder"));
  if (process.platform !== "linux") return;
  renameSync(join(top, "folder"), join(top, "moved"));
  symlinkSync(join(top, "victim"), join(top, "folder"));
  handle.write("new", "text");
  expect(handle.read("file", 100)).toBe("own");
  expect(readFileSync(join(top, "moved/new"), "utf8")).toBe("text");
  expect(existsSync(join(top, "victim/new"))).toBe(false);
});

test("a name does not lead through a link or a pipe, or out of the folder", () => {
  const folder = join(top, "folder");
  symlinkSync(join(top, "victim"), join(folder, "out"));
  symlinkSync(join(top, "victim/file"), join(folder, "leads"));
  execFileSync("mkfifo", [join(folder, "pipe")]);
  using handle = Handle.open(folder);
  expect(handle.entry("out")).toBeNull();
  expect(handle.below(["out", "file"])).toBeNull();
  expect(handle.below(["sub", "none"])).toBeNull();
  for (const name of ["leads", "pipe", "sub", "none"]) expect(handle.read(name, 100)).toBeNull();
  expect(handle.read("file", 2)).toBeNull();
  expect(() => handle.folder("out")).toThrow("replaced");
  for (const name of ["..", ".", "", "a/b", "a\0"]) expect(() => handle.place(name)).toThrow();
  handle.write("leads", "written");
  handle.remove("out");
  expect(readFileSync(join(top, "victim/file"), "utf8")).toBe("the victim's");
  expect(readFileSync(join(folder, "leads"), "utf8")).toBe("written");
});
