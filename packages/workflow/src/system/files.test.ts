import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import {
  constants,
  fstatSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { getSystemErrorMap } from "node:util";
import { codeOf } from "../../test/fixtures/until.ts";
import { SystemError } from "./libc.ts";
import { linuxFiles } from "./linux-files.ts";
import { keepNodeFiles, nodeFiles } from "./node-files.ts";
import type { Files } from "./port.ts";
import * as port from "./port.ts";

/* The two ways to the files of this machine: what one gives, or fails with, the other does too. */
let folder = "";
const at = (name: string): string => join(folder, name);
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "uncaged-files-"));
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

const isLinux = process.platform === "linux";
const ways: [name: string, files: Files][] = [["node:fs", nodeFiles()]];
const own = linuxFiles();
if (own) ways.push(["the calls of Linux", own]);

test("Linux has the files of its own calls", () => {
  expect(own !== null).toBe(isLinux);
});

test("a file is opened by the numbers that Node has", () => {
  const { O_APPEND, O_CREAT, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_RDWR, O_WRONLY } =
    constants;
  expect(port).toMatchObject({
    ...{ O_APPEND, O_CREAT, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_RDWR, O_WRONLY },
  });
});

test("an error is named as by Node", () => {
  for (const [number, [code, message]] of getSystemErrorMap()) {
    if (-number > 200) continue;
    const error = new SystemError("open", -number, "/x");
    if (error.code === "UNKNOWN") continue;
    expect(error).toMatchObject({ code, errno: number, syscall: "open", path: "/x" });
    expect(error.message).toBe(`${code}: ${message}, open '/x'`);
  }
});

/** What an action gives, or the code and the call that it fails with. */
function outcome(act: () => unknown): unknown {
  try {
    return act();
  } catch (error) {
    const { code, syscall } = error as { code?: string; syscall?: string };
    return { code, syscall };
  }
}

for (const [name, files] of ways) {
  const { O_APPEND, O_CREAT, O_EXCL, O_NOFOLLOW, O_RDONLY, O_RDWR, O_WRONLY } = port;
  const text = (value: string): Buffer => Buffer.from(value);

  describe(`by ${name}`, () => {
    test("what is written behind the end is read at its position", () => {
      const fd = files.open(at("a"), O_RDWR | O_CREAT | O_APPEND);
      expect(files.write(fd, text("xxone"), 2)).toBe(3);
      expect(files.write(fd, text("two").subarray(1), 0)).toBe(2);
      expect(files.write(fd, text("none"), 4)).toBe(0);
      expect(files.length(fd)).toBe(5);
      const buffer = Buffer.alloc(6, ".");
      expect(files.read(fd, buffer, 2, 1)).toBe(4);
      expect(buffer.toString()).toBe("..newo");
      expect(files.read(fd, buffer, 6, 0)).toBe(0);
      expect(files.read(fd, buffer, 0, 5)).toBe(0);
      expect(files.read(fd, buffer, 0, 2 ** 40)).toBe(0);
      files.truncate(fd, 2);
      files.sync(fd);
      files.syncData(fd);
      files.close(fd);
      expect(readFileSync(at("a"), "utf8")).toBe("on");
      expect(statSync(at("a")).mode & 0o777).toBe(0o600);
    });

    test("a file is synced on another thread", async () => {
      const fd = files.open(at("a"), O_WRONLY | O_CREAT);
      expect(await files.syncDataLater(fd)).toBeUndefined();
      files.close(fd);
      expect(await codeOf(files.syncDataLater(fd))).toBe("EBADF");
    });

    test("a file is synced by what was kept, whatever has been put in its place since", async () => {
      const node = process.getBuiltinModule("node:fs");
      const { fdatasync } = node;
      const fd = files.open(at("a"), O_WRONLY | O_CREAT);
      keepNodeFiles();
      try {
        node.fdatasync = ((_fd: number, done: () => void) => done()) as typeof fdatasync;
        await files.syncDataLater(fd);
        files.close(fd);
        expect(await codeOf(files.syncDataLater(fd))).toBe("EBADF");
      } finally {
        node.fdatasync = fdatasync;
      }
    });

    test("a file that is open here is open in no child", () => {
      const fd = files.open(at("a"), O_RDONLY | O_CREAT);
      const list = ["sh", "-c", `test -e /dev/fd/${fd}`];
      expect(Bun.spawnSync(list).exitCode).toBe(1);
      files.close(fd);
    });

    test("what a file is said to be is what it is", () => {
      writeFileSync(at("ä b"), "123");
      linkSync(at("ä b"), at("second"));
      symlinkSync(at("ä b"), at("link"));
      utimesSync(at("ä b"), -86_400.25, -86_400.25);
      mkdirSync(at("folder"));
      const shown = (stat: ReturnType<Files["stat"]>) =>
        stat && {
          ...{ size: stat.size, nlink: stat.nlink, ino: stat.ino, uid: stat.uid },
          ...{ mode: stat.mode, mtimeMs: stat.mtimeMs, isFile: stat.isFile() },
          ...{ isDirectory: stat.isDirectory(), isSocket: stat.isSocket() },
          isSymbolicLink: stat.isSymbolicLink(),
        };
      for (const path of ["ä b", "second", "link", "folder"]) {
        expect(shown(files.stat(at(path)))).toEqual(shown(statSync(at(path))));
        expect(shown(files.statLink(at(path)))).toEqual(shown(lstatSync(at(path))));
        const fd = files.open(at(path), O_RDONLY);
        expect(shown(files.statOpen(fd))).toEqual(shown(fstatSync(fd)));
        files.close(fd);
        expect(files.exists(at(path))).toBe(true);
      }
      rmSync(at("ä b"));
      expect(files.stat(at("link"))).toBeNull();
      expect(files.exists(at("link"))).toBe(false);
      expect(files.statLink(at("link"))?.isSymbolicLink()).toBe(true);
      expect(files.statLink(at("none"))).toBeNull();
      expect(files.stat("/dev/null")?.isFile()).toBe(false);
    });

    test("all names of a folder are listed, however many and long they are", () => {
      const names = [".x", "ä", "日本", "x".repeat(255)].concat(
        Array.from({ length: 3_000 }, (_, n) => `${"name ".repeat(5)}${n}`),
      );
      for (const each of names) writeFileSync(at(each), "");
      expect(files.list(folder).toSorted()).toEqual(names.toSorted());
      mkdirSync(at("empty"));
      expect(files.list(at("empty"))).toEqual([]);
    });

    test("folders are made with those above them, and removed with what is in them", () => {
      expect(files.makeFolder(at("a/b/c"))).toBe(at("a"));
      expect(files.makeFolder(at("a/b/c"))).toBeUndefined();
      expect(files.makeFolder(at("a/b/d"))).toBe(at("a/b/d"));
      expect(statSync(at("a/b")).mode & 0o777).toBe(0o700);
      writeFileSync(at("kept"), "");
      mkdirSync(at("other"));
      writeFileSync(at("other/kept"), "");
      writeFileSync(at("a/b/c/file"), "");
      symlinkSync(at("other"), at("a/b/link"));
      files.syncFolder(at("a"));
      files.rename(at("a/b/c"), at("a/moved"));
      expect(files.list(at("a")).toSorted()).toEqual(["b", "moved"]);
      files.removeTree(at("a"));
      files.removeTree(at("a"));
      expect(files.list(folder).toSorted()).toEqual(["kept", "other"]);
      expect(files.list(at("other"))).toEqual(["kept"]);
      files.remove(at("kept"));
      files.remove(at("kept"));
      files.removeTree(at("other/kept"));
      files.removeFolder(at("other"));
      expect(files.list(folder)).toEqual([]);
    });

    test("what can't be done fails with the system's code", () => {
      writeFileSync(at("file"), "");
      mkdirSync(at("full/inner"), { recursive: true });
      symlinkSync(at("file"), at("link"));
      symlinkSync(at("gone"), at("dangling"));
      const long = at("x".repeat(300));
      const closed = files.open(at("file"), O_RDONLY);
      files.close(closed);
      const refused = [
        outcome(() => files.open(at("none"), O_RDONLY)),
        outcome(() => files.open(at("file"), O_WRONLY | O_CREAT | O_EXCL)),
        outcome(() => files.open(at("link"), O_RDONLY | O_NOFOLLOW)),
        outcome(() => files.open(at("file/x"), O_RDONLY)),
        outcome(() => files.open(at("full"), O_WRONLY)),
        outcome(() => files.open(long, O_RDONLY)),
        outcome(() => files.stat(at("file/x"))),
        outcome(() => files.list(at("file"))),
        outcome(() => files.list(at("none"))),
        outcome(() => files.rename(at("none"), at("other"))),
        outcome(() => files.removeFolder(at("full"))),
        outcome(() => files.removeFolder(at("none"))),
        outcome(() => files.makeFolder(at("file"))),
        outcome(() => files.makeFolder(at("dangling"))),
        outcome(() => files.makeFolder(at("file/x/y"))),
        outcome(() => files.makeFolder(at(`none/${"y".repeat(300)}`))),
        outcome(() => files.syncFolder(at("gone"))),
        outcome(() => files.close(closed)),
        outcome(() => files.sync(closed)),
        outcome(() => files.syncData(closed)),
        outcome(() => files.write(closed, text("x"), 0)),
        outcome(() => files.truncate(closed, 0)),
        outcome(() => files.statOpen(closed)),
        outcome(() => files.lock(closed)),
        outcome(() => files.length(closed)),
      ].map((each) => (each as { code?: string } | undefined)?.code);
      expect(refused).toEqual([
        ...["ENOENT", "EEXIST", "ELOOP", "ENOTDIR", "EISDIR", "ENAMETOOLONG"],
        ...["ENOTDIR", "ENOTDIR", "ENOENT", "ENOENT", "ENOTEMPTY", "ENOENT"],
        ...["EEXIST", "EEXIST", "ENOTDIR", "ENAMETOOLONG", "ENOENT"],
        ...["EBADF", "EBADF", "EBADF", "EBADF", "EBADF", "EBADF", "EBADF", "EBADF"],
      ]);
      expect(outcome(() => files.exists(at("file/x")))).toBe(false);
      const cut = `${at("file")}\0x`;
      expect(() => files.open(cut, O_RDONLY)).toThrow();
      for (const call of ["stat", "list", "remove", "removeTree"] as const)
        expect(() => files[call](cut)).toThrow();
      expect(files.exists(cut)).toBe(false);
      expect(files.exists(at("file"))).toBe(true);
    });
  });
}
