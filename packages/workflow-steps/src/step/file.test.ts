import { describe, expect, test } from "bun:test";
import type { FileAdapter } from "../adapter/adapter.ts";
import { carryOut } from "../../test/calling.ts";

const data = new Uint8Array([1]);

/** Runs Unzip on an archive with files at `paths`, where the files in `there` already exist. */
async function unpacking(paths: string[], inputs: object = {}, there: string[] = []) {
  const read: string[] = [];
  const never = () => Promise.reject(new Error("not asked for"));
  const file: FileAdapter = {
    read: never,
    write: never,
    remove: never,
    list: never,
    exists: async (path) => there.includes(path),
    unzip: async (path) => (read.push(path), paths.map((one) => ({ path: one, data }))),
  };
  const around = { inputs: { source: "/in/a.zip", ...inputs } };
  const went = await carryOut({ id: "Unzip_A" }, { file }, around);
  return { went, read, written: went.files.map(({ path }) => path) };
}

describe("an Unzip step", () => {
  test("writes all files of the archive", async () => {
    const { went, read } = await unpacking(["a.txt", "b/c.png"]);
    expect(read).toEqual(["in/a.zip"]);
    expect(went.files).toEqual([
      { path: "a.txt", data, mode: "overwrite" },
      { path: "b/c.png", data, mode: "overwrite" },
    ]);
    expect(went.called?.locals._result).toEqual({ files: ["a.txt", "b/c.png"], skipped: [] });
  });

  test("routes files by their extension, and the rest into the default folder", async () => {
    const inputs = { routeByExt: { png: "/images/", ".MD": "docs" }, defaultDir: "/out" };
    const { written } = await unpacking(["a.PNG", "./b/c.md", "Makefile", "x.d/y"], inputs);
    expect(written).toEqual(["images/a.PNG", "docs/b/c.md", "out/Makefile", "out/x.d/y"]);
  });

  test("finds an archive in the run's folder of temporary files", async () => {
    const inputs = { source: ".tmp/a.zip", defaultDir: ".tmp/out", overwrite: false };
    const { read, went, written } = await unpacking(["a", "b"], inputs, [".tmp/wf_1/out/a"]);
    expect(read).toEqual([".tmp/wf_1/a.zip"]);
    expect(written).toEqual([".tmp/out/b"]);
    expect(went.called?.locals._result).toEqual({ files: [".tmp/out/b"], skipped: [".tmp/out/a"] });
  });

  test("keeps existing files if overwrite is false", async () => {
    const { went, written } = await unpacking(["a", "b"], { overwrite: false }, ["a"]);
    expect(written).toEqual(["b"]);
    expect(went.called?.locals._result).toEqual({ files: ["b"], skipped: ["a"] });
    expect((await unpacking(["a", "b"], {}, ["a"])).written).toEqual(["a", "b"]);
  });

  test.each([
    "../x",
    "a/../../x",
    "/etc/x",
    "a\\..\\x",
    "..\\x",
    "C:x",
    "C:\\x",
    "a//b",
    "a\0b",
    "",
  ])("refuses the whole archive for the path %j", async (path) => {
    const { went } = await unpacking(["good.txt", path]);
    expect(went.error).toMatchObject({ code: "UNZIP_OUTSIDE" });
    expect(went.files).toEqual([]);
  });

  const bad: [string, object][] = [
    ["no source", { source: "" }],
    ["a source as a number", { source: 1 }],
    ["routes as an array", { routeByExt: [] }],
    ["a route to a number", { routeByExt: { png: 1 } }],
  ];

  test.each(bad)("refuses %s", async (_, inputs) => {
    const { went } = await unpacking(["a"], inputs);
    expect(went.error).toMatchObject({ type: "bad_request" });
  });

  test("needs a file adapter with unzip", async () => {
    const around = { inputs: { source: "a.zip" } };
    const none = await carryOut({ id: "Unzip_A" }, {}, around);
    expect(String(none.error)).toContain('missing adapter "file"');
    const unable = await carryOut({ id: "Unzip_A" }, { file: {} as FileAdapter }, around);
    expect(String(unable.error)).toContain("can't unpack archives");
  });
});
