import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { takeLock } from "./lock.ts";
import { runDir, sharedPath } from "./paths.ts";
import { createRoot, openRoot } from "./root.ts";
import { sharedIn } from "./shared-values.ts";

const folder = mkdtempSync(join(tmpdir(), "uncaged-shared-"));
const root = openRoot({ path: join(folder, "root") });
createRoot(root);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const name = "0123456789abcdef0123456789abcdef";
const path = sharedPath(root, name);
const plusOne = (now: unknown) => ((now as number | undefined) ?? 0) + 1;
const shared = sharedIn(root);
beforeEach(() => rmSync(path, { recursive: true, force: true }));

async function value(): Promise<unknown> {
  let seen: unknown;
  await shared.update(name, (now) => void (seen = now));
  return seen;
}

describe("a shared value", () => {
  test("keeps all changes of concurrent processes", async () => {
    const script = `
      const { sharedIn } = await import(${JSON.stringify(join(import.meta.dir, "shared-values.ts"))});
      const shared = sharedIn(${JSON.stringify(root)});
      for (let n = 0; n < 50; n += 1)
        while (!(await shared.update(${JSON.stringify(name)}, (value = 0) => value + 1)));
    `;
    const others = [1, 2].map(() => Bun.spawn([process.execPath, "-e", script]).exited);
    const own = Array.from({ length: 50 }, async () => {
      while (!(await shared.update(name, plusOne)));
    });
    expect(await Promise.all([...others, ...own])).toEqual([0, 0, ...own.map(() => undefined)]);
    expect(await value()).toBe(150);
  });

  test("is kept when its change returns undefined, and may become shorter", async () => {
    await shared.update(name, () => "a long value");
    expect(await shared.update(name, () => undefined)).toBe(true);
    expect(await value()).toBe("a long value");
    await shared.update(name, () => 1);
    expect(await value()).toBe(1);
  });

  test.each(["", "{", '{"a":', "\0\0"])("that is damaged (%j) counts as missing", async (text) => {
    writeFileSync(path, text, { mode: 0o600 });
    expect(await value()).toBeUndefined();
    expect(await shared.update(name, plusOne)).toBe(true);
    expect(await value()).toBe(1);
  });

  test("can't be changed while another process holds its lock, and the wait is short", async () => {
    const lock = takeLock(path, 0);
    expect(await shared.update(name, plusOne)).toBe(false);
    lock?.release();
    expect(await shared.update(name, plusOne)).toBe(true);
  });

  test("can't be changed if it is too long, its file is a folder or a link, or its name is invalid", async () => {
    expect(await shared.update(name, () => "x".repeat(70_000))).toBe(false);
    expect(await value()).toBeUndefined();
    rmSync(path);
    symlinkSync(join(folder, "elsewhere"), path);
    expect(await shared.update(name, plusOne)).toBe(false);
    rmSync(path);
    mkdirSync(path);
    expect(await shared.update(name, plusOne)).toBe(false);
    const before = readdirSync(runDir(root));
    for (const other of ["../../escape", "", "registry.lock", name.toUpperCase()]) {
      expect(await shared.update(other, plusOne)).toBe(false);
    }
    expect(readdirSync(runDir(root))).toEqual(before);
  });

  test.skipIf(process.getuid?.() === 0)("can't be changed in a read-only folder", async () => {
    chmodSync(runDir(root), 0o500);
    expect(await shared.update(name, plusOne)).toBe(false);
    chmodSync(runDir(root), 0o700);
  });
});
