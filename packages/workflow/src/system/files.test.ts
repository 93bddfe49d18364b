import { afterEach, beforeEach, expect, test } from "bun:test";
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { codeOf } from "../../test/fixtures/until.ts";
import { files } from "./files.ts";
import { O_APPEND, O_CREAT, O_EXCL, O_NOFOLLOW, O_RDONLY, O_RDWR, O_WRONLY } from "./port.ts";

let folder = "";
const at = (name: string): string => join(folder, name);
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "uncaged-files-"));
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

/** The code of the error that a call throws; null when it returns. */
function refusal(act: () => unknown): unknown {
  try {
    act();
    return null;
  } catch (error) {
    return (error as { code?: string }).code;
  }
}

test("bytes are written from an offset on at the end of the file, and read at a position", () => {
  const fd = files.open(at("a"), O_RDWR | O_CREAT | O_APPEND);
  expect(files.write(fd, Buffer.from("xxone"), 2)).toBe(3);
  expect(files.write(fd, Buffer.from("two"), 0)).toBe(3);
  const buffer = Buffer.alloc(6, ".");
  expect(files.read(fd, buffer, 2, 1)).toBe(4);
  expect(buffer.toString()).toBe("..netw");
  expect(files.read(fd, buffer, 0, 6)).toBe(0);
  files.truncate(fd, 2);
  files.close(fd);
  expect(readFileSync(at("a"), "utf8")).toBe("on");
  expect(statSync(at("a")).mode & 0o777).toBe(0o600);
});

test("a sync that fails rejects", async () => {
  const fd = files.open(at("a"), O_WRONLY | O_CREAT);
  await files.syncDataLater(fd);
  files.close(fd);
  expect(await codeOf(files.syncDataLater(fd))).toBe("EBADF");
});

test("a function of node:fs that is replaced later is not called", async () => {
  const node = process.getBuiltinModule("node:fs");
  const { fdatasync, writeSync } = node;
  const fd = files.open(at("a"), O_WRONLY | O_CREAT);
  try {
    node.fdatasync = ((_fd: number, done: () => void) => done()) as typeof fdatasync;
    node.writeSync = () => 1;
    expect(files.write(fd, Buffer.from("abc"), 0)).toBe(3);
    files.close(fd);
    expect(await codeOf(files.syncDataLater(fd))).toBe("EBADF");
  } finally {
    Object.assign(node, { fdatasync, writeSync });
  }
  expect(readFileSync(at("a"), "utf8")).toBe("abc");
});

test("child processes do not inherit open files", () => {
  const fd = files.open(at("a"), O_RDONLY | O_CREAT);
  expect(Bun.spawnSync(["sh", "-c", `test -e /dev/fd/${fd}`]).exitCode).toBe(1);
  files.close(fd);
});

test("a lock is exclusive between descriptors and ends with its descriptor", () => {
  const [first, second] = [0, 1].map(() => files.open(at("a"), O_RDWR | O_CREAT)) as [
    number,
    number,
  ];
  expect([files.lock(first), files.lock(second)]).toEqual([true, false]);
  files.close(first);
  expect(files.lock(second)).toBe(true);
  files.close(second);
  expect(refusal(() => files.lock(second))).toBe("EBADF");
});

test("a missing path is null, false or removed, and the first missing folder is returned", () => {
  expect([files.stat(at("x")), files.statLink(at("x")), files.exists(at("x"))]).toEqual([
    null,
    null,
    false,
  ]);
  files.remove(at("x"));
  files.removeTree(at("x"));
  expect(files.makeFolder(at("a/b/c"))).toBe(at("a"));
  expect(files.makeFolder(at("a/b/c"))).toBeUndefined();
  expect(statSync(at("a/b")).mode & 0o777).toBe(0o700);
  files.syncFolder(at("a"));
});

test("errors have the codes of the system", () => {
  writeFileSync(at("file"), "");
  mkdirSync(at("full/inner"), { recursive: true });
  symlinkSync(at("file"), at("link"));
  const calls: [code: string, act: () => unknown][] = [
    ["ENOENT", () => files.open(at("none"), O_RDONLY)],
    ["EEXIST", () => files.open(at("file"), O_WRONLY | O_CREAT | O_EXCL)],
    ["ELOOP", () => files.open(at("link"), O_RDONLY | O_NOFOLLOW)],
    ["ENOTDIR", () => files.stat(at("file/x"))],
    ["ENOENT", () => files.list(at("none"))],
    ["ENOENT", () => files.rename(at("none"), at("other"))],
    ["ENOTEMPTY", () => files.removeFolder(at("full"))],
    ["EEXIST", () => files.makeFolder(at("file"))],
  ];
  expect(calls.map(([, act]) => refusal(act))).toEqual(calls.map(([code]) => code));
});
