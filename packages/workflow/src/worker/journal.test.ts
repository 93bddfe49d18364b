import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { systemError } from "../../test/fixtures/faulty-disk.ts";
import { InfoLog } from "../log/info.ts";
import type { StartRecord } from "../log/record.ts";
import { infoPath, type Root, valuesPath } from "../storage/paths.ts";
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

function journalWith(isSynced: boolean) {
  const info = new InfoLog(
    infoPath(root, hash, threadId),
    undefined,
    valuesPath(root, hash, threadId),
  );
  return openJournal({
    place: journalIn(root, start, isSynced),
    write: (payload) => info.record({ tag: "AAAAAAAA", type: "journal", stepID: null, payload }),
    isOpen: () => false,
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
