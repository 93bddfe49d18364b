import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { writeFileAtomic } from "./files.ts";

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "atomic-test-"));
  path = join(folder, "a.txt");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe("replacing a file", () => {
  test("creates it in mode 0600 under any umask, without temporary files", () => {
    const umask = process.umask(0);
    try {
      writeFileAtomic(path, "ü");
    } finally {
      process.umask(umask);
    }
    expect(readFileSync(path, "utf8")).toBe("ü");
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(readdirSync(folder)).toEqual(["a.txt"]);
  });

  test("replaces a symbolic link and leaves its target alone", () => {
    writeFileSync(join(folder, "target"), "precious");
    symlinkSync(join(folder, "target"), path);
    writeFileAtomic(path, "new");
    expect([readFileSync(path, "utf8"), readFileSync(join(folder, "target"), "utf8")]).toEqual([
      "new",
      "precious",
    ]);
  });

  test("removes the temporary file when the rename fails", () => {
    mkdirSync(join(path, "full"), { recursive: true });
    expect(() => writeFileAtomic(path, "new")).toThrow(`can't write ${path}`);
    expect(readdirSync(folder)).toEqual(["a.txt"]);
  });

  test("keeps only the old file when a size limit stops the write", () => {
    const source = `
      import { writeFileAtomic } from ${JSON.stringify(join(import.meta.dir, "files.ts"))};
      try { writeFileAtomic(${JSON.stringify(path)}, "x".repeat(300_000)); } catch (error) { console.log(error.code); }
    `;
    writeFileSync(path, "old");
    const script = join(folder, "..", `${Bun.randomUUIDv7()}.ts`);
    writeFileSync(script, source);
    const { stdout } = Bun.spawnSync([
      "sh",
      "-c",
      `ulimit -f 64; exec "$0" "$1"`,
      process.execPath,
      script,
    ]);
    rmSync(script);
    expect(stdout.toString().trim()).toBe("FILE_TOO_LARGE");
    expect([readFileSync(path, "utf8"), readdirSync(folder)]).toEqual(["old", ["a.txt"]]);
  });

  test("reports the failed write even when the cleanup fails", () => {
    writeFileSync(path, "a file, not a folder");
    expect(() => writeFileAtomic(join(path, "b.txt"), "x")).toThrow(
      "a part of the path is not a folder",
    );
  });
});
