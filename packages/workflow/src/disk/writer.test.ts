import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import {
  appendFileSync,
  linkSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type DiskCall,
  type FaultyDisk,
  faultyDisk,
  systemError,
} from "../../test/fixtures/faulty-disk.ts";
import {
  textsOf,
  sealedLogOf,
  startLine,
  stepLine,
  unsealed,
} from "../../test/fixtures/records.ts";
import { codeOf } from "../../test/fixtures/until.ts";
import { realSystem } from "../system/real.ts";
import { useSystem } from "../system/system.ts";
import { readLog } from "./log.ts";
import { maxRecordBytes } from "../record/record.ts";
import { FileReader } from "./reader.ts";
import { LogWriter } from "./writer.ts";
import { durableWriting, type Writing } from "./writing.ts";

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "append-test-"));
  path = join(folder, "a.data.jsonl");
});
afterEach(() => {
  useSystem(realSystem);
  rmSync(folder, { recursive: true, force: true });
});

const first = textsOf(startLine);
const firstLog = sealedLogOf(startLine);
const writingTo = (disk: FaultyDisk): Writing => {
  useSystem(disk.system);
  return durableWriting();
};
const text = () => readFileSync(path, "utf8");
const lines = () => text().split("\n").slice(1, -1).map(unsealed);
const failing = (wanted: DiskCall, code: string) =>
  faultyDisk({
    before: (call) => {
      if (call === wanted) throw systemError(code);
    },
  });

describe("a new log", () => {
  test("is complete, with mode 0600, without other files", async () => {
    const writer = LogWriter.create(path, first, durableWriting());
    expect(text()).toBe(firstLog.toString());
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(readdirSync(folder)).toEqual(["a.data.jsonl"]);
    await writer.close();
  });

  const calls: DiskCall[] = ["open", "write", "syncData", "rename", "syncFolder"];
  for (const call of calls) {
    test(`does not exist when ${call} fails`, () => {
      expect(() => LogWriter.create(path, first, writingTo(failing(call, "EIO")))).toThrow(
        "the disk reported an error",
      );
      expect(readdirSync(folder)).toEqual([]);
    });
  }

  for (const [code, wanted] of [
    ["EROFS", "READ_ONLY"],
    ["EACCES", "NO_PERMISSION"],
    ["EMFILE", "TOO_MANY_FILES"],
    ["ENOTDIR", "NOT_A_FOLDER"],
    ["ESTALE", "DISK_ERROR"],
  ] as const) {
    test(`that fails with ${code} reports ${wanted} and does not exist`, async () => {
      const create = async () => LogWriter.create(path, first, writingTo(failing("open", code)));
      expect(await codeOf(create())).toBe(wanted);
      expect(readdirSync(folder)).toEqual([]);
    });
  }

  test("does not exist when the disk fills up during the write", () => {
    const disk = faultyDisk({ room: { bytes: 40 }, most: 16 });
    expect(() => LogWriter.create(path, first, writingTo(disk))).toThrow("the disk is full");
    expect(readdirSync(folder)).toEqual([]);
  });

  test("is synced, renamed and its folder synced before create returns", async () => {
    const disk = faultyDisk({});
    const writer = LogWriter.create(path, first, writingTo(disk));
    expect(disk.calls).toEqual(["open", "statOpen", "write", "syncData", "rename", "syncFolder"]);
    await writer.close();
  });
});

describe("an append", () => {
  test("is written and synced when it resolves (L1)", async () => {
    const disk = faultyDisk({});
    const writer = LogWriter.create(path, first, writingTo(disk));
    disk.calls.length = 0;
    await writer.append(stepLine("a"));
    expect(disk.calls).toEqual(["statOpen", "write", "syncData", "write"]);
    expect(lines()).toEqual([stepLine("a")]);
    await writer.close();
  });

  test("is invisible to readers before it is synced, and visible when it resolves (L1)", async () => {
    const seen: (number | null)[] = [];
    const steps = () => {
      const log = readLog(path);
      const followed = [...new FileReader({ data: path }).read()].length - 1;
      expect(log.kind === "thread" && log.steps.length).toBe(followed);
      return followed;
    };
    const disk = faultyDisk({
      before: (call) => {
        if (call === "syncData") seen.push(disk.calls.includes("rename") ? steps() : null);
      },
    });
    const writer = LogWriter.create(path, first, writingTo(disk));
    for (const content of ["a", "b"]) await writer.append(stepLine(content));
    expect(seen).toEqual([null, 0, 1]);
    expect(steps()).toBe(2);
    await writer.close();
  });

  test("that could not be synced is undone, and the log is renewed before it continues", async () => {
    let fails = false;
    const disk = faultyDisk({
      before: (call) => {
        if (call === "syncData" && fails) throw systemError("EIO");
      },
    });
    const writer = LogWriter.create(path, first, writingTo(disk));
    await writer.append(stepLine("a"));
    fails = true;
    expect(await codeOf(writer.append(stepLine("b")))).toBe("DISK_ERROR");
    expect([lines(), writer.isSuspect]).toEqual([[stepLine("a")], true]);
    await writer.close();
    fails = false;
    const { ino } = statSync(path);
    const log = readLog(path, true);
    if (log.kind !== "thread") throw new Error(log.kind);
    disk.calls.length = 0;
    const next = LogWriter.renew(path, log, writingTo(disk));
    expect(disk.calls).toEqual(["open", "statOpen", "write", "syncData", "rename", "syncFolder"]);
    expect(statSync(path).ino).not.toBe(ino);
    await next.append(stepLine("c"));
    expect([lines(), readLog(path)]).toMatchObject([
      [stepLine("a"), stepLine("c")],
      { broken: null },
    ]);
    await next.close();
  });

  for (const call of ["open", "statOpen", "write", "syncData", "rename", "syncFolder"] as const) {
    test(`is not lost when ${call} fails while its log is renewed`, () => {
      const bytes = sealedLogOf(startLine, stepLine("a"));
      writeFileSync(path, bytes, { mode: 0o600 });
      const log = readLog(path, true);
      if (log.kind !== "thread") throw new Error(log.kind);
      expect(() => LogWriter.renew(path, log, writingTo(failing(call, "EIO")))).toThrow("error");
      expect([readdirSync(folder), text()]).toEqual([["a.data.jsonl"], bytes.toString()]);
    });
  }

  test("without its newline after a kill is synced, then ended, by the next process", async () => {
    writeFileSync(path, sealedLogOf(startLine, stepLine("a")).subarray(0, -1), { mode: 0o600 });
    expect(readLog(path)).toMatchObject({ steps: [], isEnded: false, broken: null });
    const log = readLog(path, true);
    if (log.kind !== "thread") throw new Error(log.kind);
    const disk = faultyDisk({});
    const writer = LogWriter.open(path, log, writingTo(disk));
    expect(disk.calls).toEqual(["open", "statOpen", "syncData", "write"]);
    await writer.append(stepLine("b"));
    expect(readLog(path)).toMatchObject({
      steps: [{ content: "a" }, { content: "b" }],
      broken: null,
    });
    await writer.close();
  });

  test("is completed after short writes", async () => {
    const writer = LogWriter.create(path, first, writingTo(faultyDisk({ most: 7 })));
    await writer.append(stepLine("a"));
    expect(lines()).toEqual([stepLine("a")]);
    await writer.close();
  });

  test("keeps the order of the calls", async () => {
    const disk = faultyDisk({});
    const writing = writingTo(disk);
    const other = LogWriter.create(join(folder, "b.data.jsonl"), first, writing);
    const writer = LogWriter.create(path, first, writing);
    await other.append(stepLine("b"));
    const wanted = Array.from({ length: 50 }, (_, n) => stepLine(String(n)));
    await Promise.all(wanted.map((line) => writer.append(line)));
    expect(lines()).toEqual(wanted);
    expect(disk.calls).toContain("syncDataLater");
    await Promise.all([writer.close(), other.close()]);
  });

  test("that was acknowledged stays acknowledged after an error in close", async () => {
    const writer = LogWriter.create(path, first, writingTo(failing("close", "EIO")));
    await writer.append(stepLine("a"));
    await writer.close();
    expect(lines()).toEqual([stepLine("a")]);
  });

  test("is not synced with durability os", async () => {
    const disk = faultyDisk({});
    const writer = LogWriter.create(path, first, { ...writingTo(disk), syncer: null });
    await writer.append(stepLine("a"));
    expect(disk.calls.filter((call) => call.startsWith("sync"))).toEqual([]);
    await writer.close();
  });

  test("after close is refused", async () => {
    const writer = LogWriter.create(path, first, durableWriting());
    await writer.close();
    expect(await codeOf(writer.append(stepLine("a")))).toBe("LOG_CLOSED");
  });

  for (const [code, wanted] of [
    ["ENOSPC", "DISK_FULL"],
    ["EDQUOT", "DISK_FULL"],
    ["EFBIG", "FILE_TOO_LARGE"],
    ["EIO", "DISK_ERROR"],
  ] as const) {
    test(`that fails with ${code} does not leave a part of a record, and the next record is complete (L2)`, async () => {
      let refusing = false;
      const disk = faultyDisk({
        most: 9,
        before: (call, number) => {
          if (refusing && call === "write" && disk.calls[number - 1] === "write") {
            throw systemError(code);
          }
        },
      });
      const writer = LogWriter.create(path, first, writingTo(disk));
      await writer.append(stepLine("a"));
      refusing = true;
      expect(await codeOf(writer.append(stepLine("lost")))).toBe(wanted);
      expect(lines()).toEqual([stepLine("a")]);
      refusing = false;
      await writer.append(stepLine("b"));
      expect(lines()).toEqual([stepLine("a"), stepLine("b")]);
      await writer.close();
    });
  }

  test("that can't be undone is the last append (L2)", async () => {
    const disk = faultyDisk({
      most: 9,
      before: (call, number) => {
        if (call === "write" && number > 30) throw systemError("ENOSPC");
        if (call === "truncate") throw systemError("EIO");
      },
    });
    const writer = LogWriter.create(path, first, writingTo(disk));
    expect(await codeOf(writer.append(stepLine("x".repeat(400))))).toBe("DISK_FULL");
    const before = text();
    const writes = disk.calls.filter((call) => call === "write").length;
    expect(await codeOf(writer.append(stepLine("b")))).toBe("DISK_FULL");
    expect(disk.calls.filter((call) => call === "write")).toHaveLength(writes);
    expect([text(), writer.isSuspect]).toEqual([before, true]);
    await writer.close();
  });

  for (const later of [false, true]) {
    test(`whose ${later ? "later " : ""}sync fails is the last append (L3)`, async () => {
      let broken = false;
      const disk = faultyDisk({
        before: (call) => {
          if (broken && (call === "syncData" || call === "syncDataLater")) throw systemError("EIO");
        },
      });
      const writing = writingTo(disk);
      const other = LogWriter.create(join(folder, "b.data.jsonl"), first, writing);
      const writer = LogWriter.create(path, first, writing);
      if (later) await other.append(stepLine("b"));
      broken = true;
      expect(await codeOf(writer.append(stepLine("a")))).toBe("DISK_ERROR");
      const failed = later ? "syncDataLater" : "syncData";
      expect(disk.calls.slice(-3)).toEqual([failed, "truncate", "sync"]);
      broken = false;
      disk.calls.length = 0;
      expect(await codeOf(writer.append(stepLine("b")))).toBe("DISK_ERROR");
      expect(disk.calls).toEqual([]);
      await Promise.all([writer.close(), other.close()]);
    });
  }

  for (const [what, meddle] of [
    ["longer", () => appendFileSync(path, `${stepLine("foreign")}\n`)],
    ["shorter", () => truncateSync(path, 10)],
  ] as const) {
    test(`to a log that another process made ${what} is refused without a write (L4)`, async () => {
      const writer = LogWriter.create(path, first, durableWriting());
      await writer.append(stepLine("a"));
      meddle();
      const found = text();
      expect(await codeOf(writer.append(stepLine("b")))).toBe("FOREIGN_WRITE");
      expect(await codeOf(writer.append(stepLine("c")))).toBe("FOREIGN_WRITE");
      expect(text()).toBe(found);
      await writer.close();
    });
  }

  for (const size of [0, 1, 65_535, 65_536, 65_537, 16 * 1024 * 1024]) {
    test(`with a content of ${size} bytes is read back unchanged`, async () => {
      const writer = LogWriter.create(path, first, durableWriting());
      const line = stepLine("x".repeat(size));
      await writer.append(line);
      await writer.append(stepLine("after"));
      expect(lines()).toEqual([line, stepLine("after")]);
      await writer.close();
    });
  }

  test("of 65 MiB is refused without a write", async () => {
    const writer = LogWriter.create(path, first, durableWriting());
    const line = stepLine("x".repeat(65 * 1024 * 1024));
    expect(line.length).toBeGreaterThan(maxRecordBytes);
    expect(await codeOf(writer.append(line))).toBe("RECORD_TOO_LARGE");
    expect(lines()).toEqual([]);
    await writer.append(stepLine("a"));
    expect(lines()).toEqual([stepLine("a")]);
    await writer.close();
  });
});

describe("opening a log", () => {
  const open = () =>
    LogWriter.open(path, { size: statSync(path).size, sum: 0n, isEnded: true }, durableWriting());

  test("refuses a symbolic link", () => {
    writeFileSync(join(folder, "target"), firstLog);
    symlinkSync(join(folder, "target"), path);
    expect(open).toThrow("it is a symbolic link");
  });

  test("refuses a file with a second hard link", () => {
    writeFileSync(join(folder, "target"), firstLog);
    linkSync(join(folder, "target"), path);
    expect(open).toThrow("not a regular file with one name");
  });

  test("that later gets a second hard link refuses appends", async () => {
    const writer = LogWriter.create(path, first, durableWriting());
    linkSync(path, join(folder, "target"));
    expect(await codeOf(writer.append(stepLine("a")))).toBe("NOT_A_FILE");
    rmSync(join(folder, "target"));
    expect(await codeOf(writer.append(stepLine("a")))).toBe("NOT_A_FILE");
    expect(text()).toBe(firstLog.toString());
    await writer.close();
  });

  test("that is then removed refuses appends, even without syncs", async () => {
    const writer = LogWriter.create(path, first, { syncer: null });
    rmSync(path);
    const appendAll = async () => {
      for (let n = 0; n < 64; n += 1) await writer.append(stepLine("a"));
    };
    expect(await codeOf(appendAll())).toBe("NOT_A_FILE");
    await writer.close();
  });

  test("does not wait for a FIFO", () => {
    Bun.spawnSync(["mkfifo", path]);
    expect(() =>
      LogWriter.open(path, { size: 0, sum: 0n, isEnded: true }, durableWriting()),
    ).toThrow(path);
  });
});
