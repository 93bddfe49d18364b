import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import {
  existsSync,
  linkSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { takeLock } from "./lock.ts";

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "lock-test-"));
  path = join(folder, "a.lock");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const program = `
  import { takeLock } from ${JSON.stringify(join(import.meta.dir, "lock.ts"))};
  const lock = takeLock(process.argv[1], 0);
  console.log(lock ? "held" : "busy");
  if (lock) setInterval(() => Bun.gc(true), 20);
`;
const children: { kill(signal: NodeJS.Signals): void }[] = [];
afterEach(() => children.splice(0).forEach((child) => child.kill("SIGKILL")));

function holder(then = "") {
  const code = `${program}\nif (lock) { ${then} }`;
  const child = Bun.spawn([process.execPath, "-e", code, path], { stdout: "pipe" });
  children.push(child);
  return child;
}
async function firstLine({ stdout }: { stdout: ReadableStream<Uint8Array> }): Promise<string> {
  const { value } = await stdout.getReader().read();
  return new TextDecoder().decode(value).trim();
}

describe("a lock", () => {
  test("is held by one process, and released when that process is killed", async () => {
    const child = holder();
    expect(await firstLine(child)).toBe("held");
    expect(takeLock(path, 0)).toBeNull();
    child.kill("SIGKILL");
    const lock = takeLock(path, 10_000);
    expect(lock).not.toBeNull();
    lock?.release();
    await child.exited;
  });

  test("is kept by a suspended process", async () => {
    const child = holder();
    expect(await firstLine(child)).toBe("held");
    child.kill("SIGSTOP");
    expect(takeLock(path, 50)).toBeNull();
    child.kill("SIGKILL");
    await child.exited;
  });

  test("is kept when the process that holds it opens and closes the file, and not inherited by its children", async () => {
    const use = `
      const { closeSync, openSync, readFileSync } = require("node:fs");
      readFileSync(process.argv[1]);
      closeSync(openSync(process.argv[1], "r+"));
      Bun.spawn(["sleep", "5"]);
      require("node:child_process").spawn("sleep", ["5"]);
    `;
    const child = holder(use);
    expect(await firstLine(child)).toBe("held");
    expect(takeLock(path, 100)).toBeNull();
    child.kill("SIGKILL");
    await child.exited;
    const lock = takeLock(path, 3_000);
    expect(lock).not.toBeNull();
    lock?.release();
  });

  test("goes to exactly one of eight concurrent callers", async () => {
    const said = await Promise.all(Array.from({ length: 8 }, () => firstLine(holder())));
    expect(said.sort()).toEqual([...Array(7).fill("busy"), "held"]);
  });

  test("can be taken again after its release, and has mode 0600", () => {
    takeLock(path, 0)?.release();
    const lock = takeLock(path, 0);
    expect(lock).not.toBeNull();
    expect(statSync(path).mode & 0o777).toBe(0o600);
    lock?.release();
  });

  test("is taken again when its file was removed", async () => {
    const child = holder();
    await firstLine(child);
    rmSync(path);
    const lock = takeLock(path, 0);
    expect(lock).not.toBeNull();
    lock?.release();
  });

  test("is refused for a symbolic link, without changing the target", () => {
    writeFileSync(join(folder, "target"), "precious");
    symlinkSync(join(folder, "target"), path);
    expect(() => takeLock(path, 0)).toThrow("is not a lock file");
    expect(readFileSync(join(folder, "target"), "utf8")).toBe("precious");
  });

  test("is refused for a dangling symbolic link, without creating the target", () => {
    symlinkSync(join(folder, "target"), path);
    expect(() => takeLock(path, 0)).toThrow("is not a lock file");
    expect(existsSync(join(folder, "target"))).toBe(false);
  });

  test("is refused for a hard link to another file, without changing the file", () => {
    writeFileSync(join(folder, "target"), "precious".repeat(200));
    linkSync(join(folder, "target"), path);
    expect(() => takeLock(path, 0)).toThrow("is not a lock file");
    expect(readFileSync(join(folder, "target"), "utf8")).toBe("precious".repeat(200));
  });

  test("is refused for a FIFO", () => {
    Bun.spawnSync(["mkfifo", path]);
    expect(() => takeLock(path, 0)).toThrow("is not a lock file");
  });

  test("names the file that can't be opened", () => {
    expect(() => takeLock(join(folder, "no", "a.lock"), 0)).toThrow(join(folder, "no", "a.lock"));
  });
});
