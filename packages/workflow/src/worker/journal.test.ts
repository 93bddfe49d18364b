import { EventFile } from "../disk/event-file.ts";
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { noMask } from "../contract/mask.ts";
import { systemError } from "../../test/fixtures/faulty-disk.ts";
import { InfoLog } from "./info.ts";
import type { StartRecord } from "../record/record.ts";
import { dataPath, infoPath, type Root, valuesPath } from "../disk/paths.ts";
import { realSystem } from "../system/real.ts";
import { useSystem } from "../system/system.ts";
import { journalIn, openJournal } from "./journal.ts";

const start: StartRecord = {
  name: "a",
  hash: "C9NMV6V2TQT81",
  threadId: "01J0000000000000000000000A",
  parameters: { prompt: "", options: { maxRounds: 1 } },
  timestamp: 0,
};
const { hash, threadId } = start;

let folder: string;
let root: Root;
/** Which files were synced, in their order. */
let synced: string[];
let refuses: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "journal-test-"));
  root = folder as Root;
  mkdirSync(dirname(infoPath(root, hash, threadId)), { recursive: true });
  synced = [];
  refuses = "";
  const { files } = realSystem;
  const paths = new Map<number, string>();
  const note = (fd: number) => {
    const ending = basename(paths.get(fd) ?? "").replace(threadId, "");
    synced.push(ending);
    if (ending === refuses) throw systemError("EIO");
  };
  const open = (path: string, flags: number) => {
    const fd = files.open(path, flags);
    paths.set(fd, path);
    return fd;
  };
  const syncDataLater = async (fd: number) => (note(fd), await files.syncDataLater(fd));
  useSystem({ ...realSystem, files: { ...files, open, syncDataLater } });
});
afterEach(() => {
  useSystem(realSystem);
  rmSync(folder, { recursive: true, force: true });
});

const journalWith = (isSynced: boolean) => openedWith(isSynced).journal;

function openedWith(isSynced: boolean) {
  const paths = [infoPath, valuesPath].map((pathOf) => pathOf(root, hash, threadId));
  const info = new InfoLog(new EventFile(...(paths as [string, string])));
  return openJournal({
    place: journalIn(root, start, isSynced),
    write: (payload) => info.record({ tag: "AAAAAAAA", type: "journal", stepID: null, payload }),
    isOpen: () => false,
    mask: noMask,
    attempt: () => "1M81TTDCA600W",
  });
}

const [info, values] = [".info.jsonl", ".values.jsonl"];
const long = "x".repeat(20_000);

describe("an entry of a journal", () => {
  test("costs one sync, and another only where it brings a long value along", async () => {
    const journal = journalWith(true);
    for (const entry of ["a", long, long, "b", `${long}y`]) {
      expect(await journal.record("key", { entry })).toBe(true);
    }
    expect(synced).toEqual([info, values, info, info, info, values, info]);
    const read = await journal.read("key");
    expect(read.map(({ entry }) => entry)).toEqual(
      ["a", long, long, "b", `${long}y`].map((entry) => ({ entry })),
    );
  });

  test("is left to the system where nothing is synced", async () => {
    expect(await journalWith(false).record("key", long)).toBe(true);
    expect(synced).toEqual([]);
  });

  test("is not recorded where it could not be synced, and its value is synced again with the next", async () => {
    const journal = journalWith(true);
    refuses = values;
    expect(await journal.record("key", { entry: long })).toBe(false);
    refuses = "";
    expect(await journal.record("key", { entry: "a" })).toBe(true);
    expect(synced).toEqual([values, values, info]);
  });
});

describe("a journal of which something is damaged", () => {
  const [step, other] = ["01J:coder:1", "01J:writer:1"];
  const paths = () => ({
    data: dataPath(root, hash, threadId),
    info: infoPath(root, hash, threadId),
    values: valuesPath(root, hash, threadId),
  });
  /** What a new worker reads. */
  const read = async (key: string) =>
    (await journalWith(false).read(key)).map(({ entry }) => entry);
  const corrupt = async (key: string): Promise<string> => {
    try {
      await read(key);
    } catch (error) {
      const { code, message } = error as { code: string; message: string };
      expect(code).toBe("LOG_CORRUPT");
      return message;
    }
    throw new Error("it was read");
  };
  const linesOf = () => readFileSync(paths().info, "utf8").trimEnd().split("\n");
  const write = (lines: string[]) => writeFileSync(paths().info, `${lines.join("\n")}\n`);
  const entries = [{ n: 1 }, { n: 2, long }, { n: 3 }];
  const record = async (...given: unknown[]) => {
    const journal = journalWith(false);
    for (const entry of given) expect(await journal.record(step, entry)).toBe(true);
  };

  test("is read as it was, or not at all, whichever bit is flipped before its last entry", async () => {
    await record(...entries);
    const whole = readFileSync(paths().info);
    const end = whole.lastIndexOf("\n", whole.length - 2);
    let refused = 0;
    for (let at = 0; at < end; at += 1) {
      const flipped = Buffer.from(whole);
      flipped[at] = (flipped[at] ?? 0) ^ (1 << (at % 8));
      writeFileSync(paths().info, flipped);
      try {
        expect(await read(step)).toEqual(entries);
      } catch (error) {
        expect((error as { code?: string }).code).toBe("LOG_CORRUPT");
        refused += 1;
      }
    }
    // But for a bit of a checksum itself, which then is none.
    expect(refused).toBeGreaterThan(end - 60);
  });

  test("is named by its line, its value or what is missing, and no other step is kept from its own", async () => {
    await record(...entries);
    const journal = journalWith(false);
    await journal.record(other, "b");
    const [lines, files] = [linesOf(), paths()];
    write(lines.map((line, at) => (at === 0 ? line.replace('"n":1', '"n":7') : line)));
    expect(await corrupt(step)).toStartWith(`${files.info}:1: `);
    write(lines.map((line, at) => (at === 1 ? line.slice(0, 50) : line)));
    expect(await corrupt(step)).toStartWith(`${files.info}:2: `);
    write(lines.slice(1));
    expect(await corrupt(step)).toContain(`${files.info}: 1 of the 1 entries`);
    write(lines);
    rmSync(files.values);
    expect(await corrupt(step)).toStartWith(`${files.values}: the value at byte 0`);
    expect(await corrupt(`${step}:call:1`)).toStartWith(`${files.values}: the value at byte 0`);
    expect(await read(other)).toEqual(["b"]);
  });

  test("lacks what a wait of its own names, and nothing that the wait of its source names", async () => {
    await record(...entries);
    const opened = openedWith(false);
    expect(opened.counts()).toBe(null);
    await opened.journal.read(step);
    await opened.journal.record(other, "b");
    const journal = opened.counts();
    expect(journal).toEqual({ [step]: 3, [other]: 1 });
    const wait = { role: "__wait__", content: "", meta: {}, timestamp: 0, journal };
    const log = (...records: unknown[]) =>
      writeFileSync(paths().data, records.map((one) => `${JSON.stringify(one)}\n`).join(""));
    log(start, wait);
    expect(await read(step)).toEqual(entries);
    write(linesOf().slice(0, 2));
    expect(await corrupt(step)).toContain("1 of the 3 entries that a step has recorded");
    expect(await corrupt(other)).toContain("before the thread waited at step 1");
    log({ ...start, forkFrom: { threadId: "01J", steps: 1 } }, wait);
    expect(await read(step)).toEqual(entries.slice(0, 2));
    opened.over("1M81TTDCA600W");
    expect(opened.counts()).toBe(null);
  });

  test("goes on wherever a crash has cut off its end, which nothing names", async () => {
    await record(...entries);
    const files = paths();
    const [whole, all] = [readFileSync(files.info), readFileSync(files.values)];
    for (let length = 0; length < whole.length; length += 1) {
      writeFileSync(files.info, whole.subarray(0, length));
      const left = await read(step);
      expect(left).toEqual(entries.slice(0, left.length));
      await record("next");
      // An entry that lacks nothing but its line end has one then.
      const isEnded = linesOf().length > left.length + 1 && whole[length] === 10;
      expect(await read(step)).toEqual([
        ...(isEnded ? entries.slice(0, left.length + 1) : left),
        "next",
      ]);
    }
    // A loss of power may leave the line of a value that is gone, in whose place another one comes.
    const two = whole.subarray(0, whole.lastIndexOf("\n", whole.length - 2) + 1);
    for (const length of [0, 100, all.length - 2]) {
      writeFileSync(files.info, two);
      writeFileSync(files.values, all.subarray(0, length));
      expect(await read(step)).toEqual(entries.slice(0, 1));
      const another = { n: 2, long: `${long.slice(0, -1)}y` };
      await record(another);
      expect(await read(step)).toEqual([{ n: 1 }, another]);
    }
  });

  test("of two that are recorded at once each may be lost", async () => {
    await record("a");
    const journal = journalWith(true);
    await Promise.all(["b", "c"].map((entry) => journal.record(step, entry)));
    const lines = linesOf();
    write(lines.filter((line) => !line.includes('"entry":"b"')));
    expect(await read(step)).toEqual(["a", "c"]);
    write(lines);
    await record("d");
    write(linesOf().filter((line) => !line.includes('"entry":"b"')));
    expect(await corrupt(step)).toContain("1 of the 3 entries");
  });

  test("of an earlier version is read as ever, and what comes behind it has checksums", async () => {
    await record(...entries);
    write(linesOf().map((line) => line.replace(/,"after":\d+|,"sum":"[^"]*"/g, "")));
    expect(await read(step)).toEqual(entries);
    await record("new");
    expect(linesOf().at(-1)).toContain('"after":3');
    expect(await read(step)).toEqual([...entries, "new"]);
    write(linesOf().slice(1));
    expect(await corrupt(step)).toContain("1 of the 3 entries");
  });
});
