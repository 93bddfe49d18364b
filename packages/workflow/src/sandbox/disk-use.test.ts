import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import {
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { countFiles } from "./disk-use.ts";

const never = () => false;
const size = 1024 ** 2;

describe.skipIf(process.platform !== "linux")("the files of a hostile step", () => {
  let folder = "";
  let other = "";
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "uncaged-files-"));
    other = mkdtempSync(join(tmpdir(), "uncaged-others-"));
    writeFileSync(join(other, "large"), Buffer.alloc(size, 1));
  });
  afterEach(() => {
    // Unlike Node's functions, this command removes paths of any length.
    Bun.spawnSync(["rm", "-rf", folder, other]);
  });

  test("are counted once each, by their allocated blocks", async () => {
    mkdirSync(join(folder, "a/b"), { recursive: true });
    writeFileSync(join(folder, "a/b/one"), Buffer.alloc(size, 1));
    linkSync(join(folder, "a/b/one"), join(folder, "two"));
    const { bytes, files, levels } = await countFiles([folder, join(folder, "missing")], never);
    expect(bytes).toBeGreaterThanOrEqual(size);
    expect(bytes).toBeLessThan(2 * size);
    expect({ files, levels }).toEqual({ files: 4, levels: 3 });
  });

  test("are not counted behind links", async () => {
    symlinkSync(other, join(folder, "folder"));
    symlinkSync(join(other, "large"), join(folder, "file"));
    symlinkSync("/", join(folder, "root"));
    symlinkSync(".", join(folder, "loop"));
    const { bytes, files, levels } = await countFiles([folder], never);
    expect(bytes).toBeLessThan(size);
    expect({ files, levels }).toEqual({ files: 4, levels: 1 });
  });

  test("are not counted behind a folder that becomes a link during the count", async () => {
    const inner = join(folder, "inner");
    mkdirSync(inner);
    let isSwapped = false;
    const use = await countFiles([folder], ({ files }) => {
      if (files === 1 && !isSwapped) {
        renameSync(inner, join(folder, "moved"));
        symlinkSync(other, inner);
        isSwapped = true;
      }
      return false;
    });
    expect(isSwapped).toBe(true);
    expect(use.bytes).toBeLessThan(size);
  });

  test("are counted below names that are not UTF-8", async () => {
    const name = Buffer.concat([Buffer.from(`${folder}/`), Buffer.from([0xff, 0xfe])]);
    mkdirSync(name);
    writeFileSync(Buffer.concat([name, Buffer.from("/x")]), Buffer.alloc(size, 1));
    expect((await countFiles([folder], never)).bytes).toBeGreaterThanOrEqual(size);
  });

  test("are counted at any depth, until `isEnough` returns true", async () => {
    const chain = Array.from({ length: 15 }, () => "n".repeat(200)).join("/");
    // Together their paths exceed the system's length limit.
    for (const top of ["one", "two", "three"]) {
      const end = join(folder, top, chain);
      mkdirSync(end, { recursive: true });
      if (top === "one") writeFileSync(join(end, "file"), Buffer.alloc(size, 1));
      else renameSync(join(folder, top === "two" ? "one" : "two"), join(end, "before"));
    }
    const use = await countFiles([folder], never);
    expect(use.bytes).toBeGreaterThanOrEqual(size);
    expect({ files: use.files, levels: use.levels }).toEqual({ files: 49, levels: 49 });
    const open = () => readdirSync("/proc/self/fd").length;
    const before = open();
    expect((await countFiles([folder], ({ levels }) => levels > 10)).levels).toBe(11);
    expect(open()).toBe(before);
  });

  test("are not counted after `isEnough` returns true", async () => {
    for (let n = 0; n < 50; n += 1) writeFileSync(join(folder, String(n)), "");
    expect((await countFiles([folder], ({ files }) => files > 20)).files).toBe(21);
  });

  test("may vanish at any time", async () => {
    for (let n = 0; n < 50; n += 1) {
      mkdirSync(join(folder, String(n)));
      writeFileSync(join(folder, String(n), "x"), "x");
    }
    const use = await countFiles([folder], ({ files }) => {
      if (files === 5) rmSync(folder, { recursive: true, force: true });
      return false;
    });
    expect(use.files).toBe(5);
  });
});
