import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { editFile, readFile, writeFile } from "./file-tools.ts";
import { Folder, openConfined } from "./open.ts";
import { confinedPath } from "./path.ts";
import { toolRegistry } from "./registry.ts";
import { listFiles, search } from "./search.ts";

let top: string;
let cwd: string;
beforeEach(() => {
  top = mkdtempSync(join(tmpdir(), "uncaged-tools-"));
  cwd = join(top, "project");
  mkdirSync(cwd);
  writeFileSync(join(top, "secret.txt"), "secret");
});
afterEach(() => rmSync(top, { recursive: true, force: true }));

const registry = toolRegistry([readFile, writeFile, editFile, listFiles, search]);
const call = (name: string, input: unknown) =>
  registry.run(name, input, { signal: new AbortController().signal, cwd, env: {} });
const put = (name: string, text: string) => {
  mkdirSync(join(cwd, name, ".."), { recursive: true });
  writeFileSync(join(cwd, name), text);
};
const text = (name: string) => readFileSync(join(cwd, name), "utf8");

const said = async (name: string, input: unknown) => {
  const { content, is_error } = await call(name, input);
  return is_error ? `error: ${content}` : content;
};

describe("the file tools stay in the thread's directory", () => {
  const escapes: [string, (path: string) => unknown][] = [
    ["readFile", (path) => ({ path })],
    ["writeFile", (path) => ({ path, content: "hacked" })],
    ["editFile", (path) => ({ path, oldText: "secret", newText: "hacked" })],
    ["listFiles", (path) => ({ path })],
    ["search", (path) => ({ path, pattern: "secret" })],
  ];

  for (const [name, input] of escapes) {
    test(`${name} does not leave it through .., an absolute path, a link or a link's parent`, async () => {
      symlinkSync(join(top, "secret.txt"), join(cwd, "file-link"));
      symlinkSync(top, join(cwd, "folder-link"));
      symlinkSync("/proc/self/environ", join(cwd, "environ"));
      symlinkSync("..", join(cwd, "up"));
      const paths = ["../secret.txt", "a/../../secret.txt", join(top, "secret.txt"), "file-link"];
      paths.push("folder-link/secret.txt", "up/secret.txt", "/etc/passwd", "/dev/zero", "environ");
      paths.push(
        "folder-link/project/../secret.txt",
        "..",
        "folder-link/new.txt",
        "../project2/new.txt",
      );
      for (const path of paths) {
        expect(await said(name, input(path))).toContain("leads out of the thread's directory");
      }
      expect(await said(name, input("a\0b"))).toContain("error:");
      expect(readFileSync(join(top, "secret.txt"), "utf8")).toBe("secret");
      expect(readdirSync(top).sort()).toEqual(["project", "secret.txt"]);
    });

    test(`${name} does not block at a FIFO`, async () => {
      spawnSync("mkfifo", [join(cwd, "fifo")]);
      const answer = await said(name, input("fifo"));
      if (name === "search") expect(answer).toBe("[nothing found]");
      else expect(answer).toMatch(/is not a regular file|is not a folder/);
    });
  }

  test("a link that is created between the check and the use is not followed", async () => {
    put("folder/a.txt", "inside");
    const place = await confinedPath(cwd, "folder/a.txt");
    rmSync(join(cwd, "folder/a.txt"));
    symlinkSync(join(top, "secret.txt"), join(cwd, "folder/a.txt"));
    expect(openConfined(place, 0)).rejects.toThrow("leads out");
    rmSync(join(cwd, "folder"), { recursive: true });
    mkdirSync(join(top, "other"));
    writeFileSync(join(top, "other/a.txt"), "outside");
    symlinkSync(join(top, "other"), join(cwd, "folder"));
    expect(openConfined(place, 0)).rejects.toThrow("leads out");
  });

  test("a write into an open folder stays in it, even if the folder's path meanwhile leads outside", async () => {
    put("folder/a.txt", "inside");
    const folder = await Folder.open(await confinedPath(cwd, "folder"));
    renameSync(join(cwd, "folder"), join(cwd, "moved"));
    mkdirSync(join(top, "other"));
    symlinkSync(join(top, "other"), join(cwd, "folder"));
    writeFileSync(folder.path("b.txt"), "still inside");
    const below = await folder.into("below");
    await below.close();
    expect(readdirSync(join(cwd, "moved")).sort()).toEqual(["a.txt", "b.txt", "below"]);
    expect(readdirSync(join(top, "other"))).toEqual([]);
    expect(Folder.open({ root: cwd, path: join(cwd, "folder"), name: "folder" })).rejects.toThrow();
  });

  test("a file that is replaced repeatedly is always read completely", async () => {
    put("a.txt", "whole");
    const replace = `const { renameSync, writeFileSync } = require("fs");
      console.log("go");
      for (;;) { writeFileSync("b.txt", "whole"); renameSync("b.txt", "a.txt"); Bun.sleepSync(2); }`;
    const child = Bun.spawn([process.execPath, "-e", replace], { cwd, stdout: "pipe" });
    await child.stdout.getReader().read();
    const read = new Set<string>();
    for (let n = 0; n < 300; n += 1) read.add(await said("readFile", { path: "a.txt" }));
    child.kill("SIGKILL");
    await child.exited;
    expect([...read]).toEqual(["whole"]);
  });

  test("writes into a folder that is repeatedly swapped for a link stay inside", async () => {
    put("folder/a.txt", "inside");
    mkdirSync(join(top, "other"));
    // If the folder is missing, the tool creates it again. The next iteration then moves the new folder away.
    const swap = `const { renameSync, symlinkSync, unlinkSync } = require("fs");
      const attempt = (act) => { try { act(); } catch {} };
      console.log("on");
      for (let n = 0; ; n += 1) {
        attempt(() => renameSync("folder", "kept" + n));
        attempt(() => symlinkSync("../other", "folder"));
        attempt(() => unlinkSync("folder"));
        attempt(() => renameSync("kept" + n, "folder"));
      }`;
    const child = Bun.spawn([process.execPath, "-e", swap], { cwd, stdout: "pipe" });
    try {
      await child.stdout.getReader().read();
      for (let n = 0; n < 300; n += 1) {
        await said("writeFile", { path: `folder/${n}.txt`, content: "x" });
        await said("writeFile", { path: `folder/below${n}/a.txt`, content: "x" });
      }
    } finally {
      child.kill("SIGKILL");
      await child.exited;
    }
    expect(readdirSync(join(top, "other"))).toEqual([]);
    expect(readFileSync(join(top, "secret.txt"), "utf8")).toBe("secret");
  });

  test("a link to a file inside is followed, and the thread's directory may be a link", async () => {
    put("a.txt", "inside");
    symlinkSync("a.txt", join(cwd, "link"));
    symlinkSync(cwd, join(top, "alias"));
    expect(await said("readFile", { path: "link" })).toBe("inside");
    const aliased = { signal: new AbortController().signal, cwd: join(top, "alias"), env: {} };
    const path = join(top, "alias", "a.txt");
    expect((await registry.run("readFile", { path }, aliased)).content).toBe("inside");
    await call("writeFile", { path: "link", content: "new" });
    expect(text("a.txt")).toBe("new");
    expect(lstatSync(join(cwd, "link")).isSymbolicLink()).toBe(true);
    symlinkSync("gone", join(cwd, "dangling"));
    expect(await said("writeFile", { path: "dangling", content: "x" })).toContain("error:");
    expect(existsSync(join(cwd, "gone"))).toBe(false);
  });
});

describe("readFile", () => {
  test("returns a text unchanged, including its byte order mark and line ends", async () => {
    put("a.txt", "\ufeffone\r\ntwo\n");
    expect(await said("readFile", { path: "a.txt" })).toBe("\ufeffone\r\ntwo\n");
  });

  test("returns a range of lines, and reports the remaining lines", async () => {
    put("a.txt", Array.from({ length: 3000 }, (_, i) => `line ${i + 1}\n`).join(""));
    expect(await said("readFile", { path: "a.txt", offset: 3, limit: 2 })).toBe(
      "line 3\nline 4\n[lines 3 to 4 of 3000; continue with offset 5]",
    );
    expect(await said("readFile", { path: "a.txt" })).toEndWith("continue with offset 2001]");
    expect(await said("readFile", { path: "a.txt", offset: 2999 })).toBe(
      "line 2999\nline 3000\n[lines 2999 to 3000 of 3000]",
    );
    expect(await said("readFile", { path: "a.txt", offset: 9999 })).toBe(
      "[the file has 3000 lines]",
    );
  });

  test("refuses a missing or binary file, a folder, and a file over 10 MB", async () => {
    put("binary", "a\0b");
    writeFileSync(join(cwd, "latin1"), Buffer.from([0x61, 0xe9]));
    put("long", "");
    truncateSync(join(cwd, "long"), 10 * 1024 * 1024 + 1);
    expect(await said("readFile", { path: "none" })).toContain('"none" does not exist');
    expect(await said("readFile", { path: "no/folder" })).toContain("nor does its folder");
    expect(await said("readFile", { path: "binary" })).toContain("is not text");
    expect(await said("readFile", { path: "latin1" })).toContain("is not text");
    expect(await said("readFile", { path: "long" })).toContain("is too long: 10485761 bytes");
    expect(await said("readFile", { path: "." })).toContain("is not a regular file");
    expect(await said("readFile", { path: "" })).toContain("invalid arguments of readFile");
  });
});

describe("writeFile", () => {
  test("creates a file with its folders, and replaces the whole content of a file but not its mode", async () => {
    expect(await said("writeFile", { path: "a/b/c.sh", content: "1" })).toBe("created a/b/c.sh");
    chmodSync(join(cwd, "a/b/c.sh"), 0o755);
    expect(await said("writeFile", { path: "a/b/c.sh", content: "2" })).toBe("replaced a/b/c.sh");
    expect(text("a/b/c.sh")).toBe("2");
    expect(statSync(join(cwd, "a/b/c.sh")).mode & 0o777).toBe(0o755);
    expect(readdirSync(join(cwd, "a/b"))).toEqual(["c.sh"]);
  });

  test("leaves other hard links of a file unchanged", async () => {
    linkSync(join(top, "secret.txt"), join(cwd, "hard"));
    await call("writeFile", { path: "hard", content: "new" });
    expect(readFileSync(join(top, "secret.txt"), "utf8")).toBe("secret");
  });

  test("does not write into Git's folder", async () => {
    mkdirSync(join(cwd, ".git/hooks"), { recursive: true });
    for (const path of [".git/hooks/pre-commit", ".GIT/config", "sub/.git/config"]) {
      expect(await said("writeFile", { path, content: "x" })).toContain("belongs to Git");
    }
    expect(readdirSync(join(cwd, ".git/hooks"))).toEqual([]);
  });

  test("refuses a path below a file, and a folder's own path", async () => {
    put("a.txt", "");
    mkdirSync(join(cwd, "folder"));
    expect(await said("writeFile", { path: "a.txt/b", content: "x" })).toContain("error:");
    expect(await said("writeFile", { path: "folder", content: "x" })).toContain("error:");
    expect(readdirSync(cwd).sort()).toEqual(["a.txt", "folder"]);
  });
});

describe("editFile", () => {
  test("replaces an exact text, including $", async () => {
    put("a.txt", "let a = 1;\r\nlet b = 2;\r\n");
    const edit = { path: "a.txt", oldText: "1;\r\n", newText: "$&$1;\n" };
    expect(await said("editFile", edit)).toBe("changed a.txt");
    expect(text("a.txt")).toBe("let a = $&$1;\r\nlet b = 2;\r\n");
  });

  test.each([
    ["matches LF in a file with CR LF", "a\r\nb\r\nc\r\n", "a\nb", "a\nB", "a\r\nB\r\nc\r\n"],
    ["adds a line with the file's line end", "a\r\nb\r\n", "a", "a1\na2", "a1\r\na2\r\nb\r\n"],
    ["matches CR LF in a file with LF", "a\nb\nc\n", "a\r\nb", "B\r\n!", "B\n!\nc\n"],
    [
      "keeps other line ends in a file with mixed line ends",
      "a\nb\r\nc\r\n",
      "a\nb",
      "x\ny",
      "x\ny\r\nc\r\n",
    ],
    ["uses the given line ends in a file with a single line", "a", "a", "b\r\nc", "b\r\nc"],
    ["changes a line end if the texts differ only in it", "a\r\nb", "a\r\n", "a\n", "a\nb"],
  ])("%s", async (_, before, oldText, newText, after) => {
    put("a.txt", before);
    expect(await said("editFile", { path: "a.txt", oldText, newText })).toBe("changed a.txt");
    expect(text("a.txt")).toBe(after);
  });

  test("refuses a text that is missing, occurs twice, or equals its replacement", async () => {
    put("a.txt", "x\nx\n");
    const edit = (oldText: string, newText: string, all = false) =>
      said("editFile", { path: "a.txt", oldText, newText, all });
    expect(await edit("y", "z")).toContain("does not contain the text");
    expect(await edit("x", "z")).toContain("has the text 2 times, in lines 1, 2");
    expect(await edit("x", "x")).toContain("both texts are the same");
    expect(text("a.txt")).toBe("x\nx\n");
    expect(await edit("x", "z", true)).toBe("changed a.txt in 2 places");
    expect(text("a.txt")).toBe("z\nz\n");
  });
});

describe("the tools listFiles and search", () => {
  beforeEach(() => {
    put("src/a.ts", "const one = 1;\nconst two = 2;\n");
    put("src/b.tsx", "ONE");
    put("dist/out.js", "one");
    put("keep/dist/x.js", "one");
    put("node_modules/p/index.js", "one");
    put(".git/config", "one");
    put(".gitignore", "/dist\n*.log\n");
    put("keep/.gitignore", "!wanted.log\n");
    put("keep/wanted.log", "one");
    put("keep/other.log", "one");
    put("image.png", "one\0");
    symlinkSync(top, join(cwd, "up"));
  });

  test("list the files that Git does not ignore, sorted by name", async () => {
    expect((await said("listFiles", {})).split("\n")).toEqual([
      ".gitignore",
      "image.png",
      "keep/",
      "keep/.gitignore",
      "keep/dist/",
      "keep/dist/x.js",
      "keep/wanted.log",
      "src/",
      "src/a.ts",
      "src/b.tsx",
    ]);
    expect(await said("listFiles", { path: "src", pattern: "*.{ts,tsx}" })).toBe(
      "src/a.ts\nsrc/b.tsx",
    );
    expect(await said("listFiles", { pattern: "src/**/*.ts" })).toBe("src/a.ts");
    expect(await said("listFiles", { pattern: "*.rs" })).toBe("[no files]");
    expect(await said("listFiles", { path: "nope" })).toContain("does not exist");
  });

  test("find lines by a regular expression and by plain text, only in text files", async () => {
    expect(await said("search", { pattern: "^const (one|two)" })).toBe(
      "src/a.ts:1: const one = 1;\nsrc/a.ts:2: const two = 2;",
    );
    expect(await said("search", { pattern: "one", plain: true, ignoreCase: true })).toBe(
      "keep/dist/x.js:1: one\nkeep/wanted.log:1: one\nsrc/a.ts:1: const one = 1;\nsrc/b.tsx:1: ONE",
    );
    expect(await said("search", { pattern: "one", files: "*.log" })).toBe("keep/wanted.log:1: one");
    expect(await said("search", { pattern: "(", path: "src" })).toContain(
      "invalid regular expression",
    );
    expect(await said("search", { pattern: "= 1;", plain: true, path: "src/a.ts" })).toBe(
      "src/a.ts:1: const one = 1;",
    );
  });

  test("report a slow regular expression, and limit the number of lines", async () => {
    put("slow.txt", `${"a".repeat(5000)}!`);
    expect(await said("search", { pattern: "^(a+)+$", path: "slow.txt" })).toContain(
      "takes too long at slow.txt:1",
    );
    put("many.txt", "hit\n".repeat(1000));
    const lines = (await said("search", { pattern: "hit" })).split("\n");
    expect(lines).toHaveLength(201);
    expect(lines.at(-1)).toContain("more lines found");
  });
});
