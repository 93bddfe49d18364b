import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { strToU8, zipSync } from "fflate/browser";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { FileAdapter } from "../adapter/adapter.ts";
import { fileAdapter, unzipped } from "./file.ts";

let top: string;
let cwd: string;
let files: FileAdapter;
beforeEach(() => {
  top = mkdtempSync(join(tmpdir(), "uncaged-steps-"));
  cwd = join(top, "work");
  mkdirSync(cwd);
  writeFileSync(join(top, "secret.txt"), "secret");
  files = fileAdapter({ cwd });
});
afterEach(() => rmSync(top, { recursive: true }));

const put = (name: string, text = "") => {
  mkdirSync(join(cwd, name, ".."), { recursive: true });
  writeFileSync(join(cwd, name), text);
};
const text = (name: string) => readFileSync(join(cwd, name), "utf8");
const failureOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => "no failure",
    (error: unknown) => error,
  );

describe("writing a file", () => {
  test("creates missing folders, and returns the file's size", async () => {
    expect(await files.write("a/b/c.txt", "grüß", "overwrite")).toEqual({ size_bytes: 6 });
    expect(text("a/b/c.txt")).toBe("grüß");
    await files.write("a/b/c.txt", new Uint8Array([65]), "overwrite");
    expect(text("a/b/c.txt")).toBe("A");
    expect(readdirSync(join(cwd, "a/b"))).toEqual(["c.txt"]);
  });

  test("appends or prepends to a file, and creates a missing file", async () => {
    await files.write("a", "2", "append");
    await files.write("a", "3", "append");
    expect(await files.write("a", "1", "prepend")).toEqual({ size_bytes: 3 });
    expect(text("a")).toBe("123");
  });

  test("with failIfExists keeps an existing file", async () => {
    await files.write("a", "1", "failIfExists");
    const failure = await failureOf(files.write("a", "2", "failIfExists"));
    expect(failure).toMatchObject({ code: "FILE_EXISTS" });
    expect(text("a")).toBe("1");
    expect(readdirSync(cwd)).toEqual(["a"]);
  });

  test("keeps all concurrent appends, and lets only one of two writers create a file", async () => {
    const letters = Array.from({ length: 30 }, (_, i) => String.fromCharCode(65 + i));
    await Promise.all(letters.map((one) => files.write("a", one, "append")));
    expect(text("a").split("").sort()).toEqual(letters);
    const both = ["1", "2"].map((one) => failureOf(files.write("b", one, "failIfExists")));
    const ends = await Promise.all(both);
    expect(ends.filter((end) => end === "no failure")).toHaveLength(1);
  });

  test("in the `.git` folder is refused", async () => {
    const failure = await failureOf(files.write(".git/hooks/post-commit", "x", "overwrite"));
    expect(failure).toMatchObject({ code: "GIT_FOLDER" });
  });
});

describe("the file adapter", () => {
  test("reads bytes, and reports missing files", async () => {
    put("a", "abc");
    expect(await files.read("a")).toEqual(Buffer.from("abc"));
    expect(await failureOf(files.read("b"))).toMatchObject({ code: "FILE_MISSING" });
    expect(await failureOf(files.read("c/d"))).toMatchObject({ code: "FILE_MISSING" });
    expect(await Promise.all(["a", "b", "c/d"].map((one) => files.exists(one)))).toEqual([
      true,
      false,
      false,
    ]);
  });

  test("refuses to read or write a file above its size limit", async () => {
    put("long", "12345");
    const small = fileAdapter({ cwd, mostBytes: 4 });
    expect(await failureOf(small.read("long"))).toMatchObject({ code: "FILE_TOO_LONG" });
    const written = await failureOf(small.write("b", "12345", "overwrite"));
    expect(written).toMatchObject({ code: "FILE_TOO_LONG" });
    expect(existsSync(join(cwd, "b"))).toBe(false);
  });

  test("removes a file, a folder with its content, and a link without its target", async () => {
    put("a");
    put("b/c/d");
    put("kept");
    symlinkSync(join(cwd, "kept"), join(cwd, "link"));
    for (const path of ["a", "b/", "link", "none", "none/at/all"]) await files.remove(path);
    expect(readdirSync(cwd)).toEqual(["kept"]);
  });

  test("lists files by a pattern", async () => {
    for (const name of ["a.md", "b.txt", "docs/c.md", "docs/d/e.md", ".tmp/run/f.md"]) put(name);
    for (const name of [".git/g.md", "node_modules/p/h.md"]) put(name);
    symlinkSync(top, join(cwd, "up"));
    expect(await files.list("*.md")).toEqual(["a.md"]);
    expect(await files.list("**/*.md")).toEqual(["a.md", "docs/c.md", "docs/d/e.md"]);
    expect(await files.list("docs/*.md")).toEqual(["docs/c.md"]);
    expect(await files.list("docs/{c,x}.md")).toEqual(["docs/c.md"]);
    expect(await files.list("b.txt")).toEqual(["b.txt"]);
    expect(await files.list(".tmp/run/**")).toEqual([".tmp/run/f.md"]);
    expect(await files.list("none/**")).toEqual([]);
    expect(await files.list("b.txt/**")).toEqual([]);
  });

  test("unpacks an archive, without its folders", async () => {
    const archive = zipSync({ "a.txt": strToU8("one"), b: { "c.txt": strToU8("two") }, d: {} });
    writeFileSync(join(cwd, "x.zip"), archive);
    const found = await files.unzip?.("x.zip");
    expect(found?.map(({ path, data }) => [path, new TextDecoder().decode(data)])).toEqual([
      ["a.txt", "one"],
      ["b/c.txt", "two"],
    ]);
  });
});

describe("for a path outside the run's directory, the file adapter", () => {
  const ways: [string, (path: string) => Promise<unknown>][] = [
    ["read", (path) => files.read(path)],
    ["write", (path) => files.write(path, "hacked", "overwrite")],
    ["append", (path) => files.write(path, "hacked", "append")],
    ["failIfExists", (path) => files.write(path, "hacked", "failIfExists")],
    ["exists", (path) => files.exists(path)],
    ["remove", (path) => files.remove(path)],
    ["list", (path) => files.list(path)],
    ["unzip", (path) => files.unzip?.(path) ?? Promise.resolve()],
  ];
  const paths = [
    "../secret.txt",
    "a/../../secret.txt",
    "/etc/passwd",
    "up/secret.txt",
    "",
    ".",
    "..",
  ];

  test.each(ways)("refuses %s", async (_, way) => {
    symlinkSync(top, join(cwd, "up"));
    for (const path of [...paths, join(top, "secret.txt"), join(cwd, "a"), "a\0b"]) {
      expect(await failureOf(way(path))).toMatchObject({ code: "PATH_OUTSIDE" });
    }
    expect(readFileSync(join(top, "secret.txt"), "utf8")).toBe("secret");
    expect(readdirSync(top).sort()).toEqual(["secret.txt", "work"]);
  });

  test.each(ways.filter(([name]) => !["remove", "list"].includes(name)))(
    "does not follow a link: %s",
    async (_, way) => {
      symlinkSync(join(top, "secret.txt"), join(cwd, "link"));
      expect(await failureOf(way("link"))).toMatchObject({ code: "PATH_OUTSIDE" });
      expect(lstatSync(join(cwd, "link")).isSymbolicLink()).toBe(true);
      expect(readFileSync(join(top, "secret.txt"), "utf8")).toBe("secret");
    },
  );
});

const unzipFailure = (work: () => unknown): unknown => {
  try {
    return work();
  } catch (error) {
    return error;
  }
};

describe("an archive", () => {
  test("returns its files unchanged, including paths outside the folder", () => {
    const archive = zipSync({ "../x": strToU8("a"), "b/": new Uint8Array(), c: strToU8("") });
    expect(unzipped(archive).map(({ path }) => path)).toEqual(["../x", "c"]);
  });

  test("with too many files is refused", () => {
    const archive = zipSync(Object.fromEntries([1, 2, 3].map((n) => [`${n}`, strToU8("x")])));
    expect(unzipFailure(() => unzipped(archive, { mostFiles: 2 }))).toMatchObject({
      code: "ZIP_TOO_LARGE",
    });
    expect(unzipped(archive, { mostFiles: 3 })).toHaveLength(3);
  });

  test("that unpacks to too many bytes is refused before it is unpacked", () => {
    const archive = zipSync({ a: new Uint8Array(1_000_000), b: new Uint8Array(1_000_000) });
    expect(archive.length).toBeLessThan(10_000);
    const refused = unzipFailure(() => unzipped(archive, { mostBytes: 1_999_999 }));
    expect(refused).toMatchObject({ code: "ZIP_TOO_LARGE" });
    expect(unzipped(archive, { mostBytes: 2_000_000 })).toHaveLength(2);
  });

  test("with a false file length returns no more than the declared length", () => {
    const archive = zipSync({ a: new Uint8Array(1_000_000) });
    const view = new DataView(archive.buffer);
    const central = archive.length - 22 - 47;
    expect(view.getUint32(central, true)).toBe(0x02014b50);
    view.setUint32(central + 24, 10, true);
    const [file] = unzipped(archive, { mostBytes: 100_000 });
    expect(file?.data.length ?? 0).toBeLessThanOrEqual(10);
  });

  const broken: [string, Uint8Array][] = [
    ["empty", new Uint8Array()],
    ["text", strToU8("no archive")],
    ["half an archive", zipSync({ a: strToU8("x".repeat(100)) }).slice(0, 60)],
    ["the end of an archive", zipSync({ a: strToU8("x".repeat(100)) }).slice(40)],
  ];

  test.each(broken)("that is %s is refused", (_, bytes) => {
    const code = expect.stringMatching(/^ZIP_(BROKEN|TOO_LARGE)$/);
    expect(unzipFailure(() => unzipped(bytes))).toMatchObject({ code });
  });
});
