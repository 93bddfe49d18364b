import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import {
  appendFileSync,
  existsSync,
  mkdtempSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { changed, LogTail } from "./follow.ts";

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "follow-test-"));
  path = join(folder, "a.data.jsonl");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const values = (tail: LogTail) => [...tail.read()].map(({ value }) => value);

describe("the tail of a log", () => {
  test("of a file that is not there yet is empty", () => {
    expect(values(new LogTail(path))).toEqual([]);
  });

  test("gives each line once, and none before it is whole", () => {
    const tail = new LogTail(path);
    const text = '{"a":1}\n{"b":"ü"}\n[3]\n';
    const seen: unknown[] = [];
    for (const byte of Buffer.from(text)) {
      appendFileSync(path, Buffer.from([byte]));
      seen.push(...values(tail));
    }
    expect(seen).toEqual([{ a: 1 }, { b: "ü" }, [3]]);
    expect(tail.position).toBe(Buffer.byteLength(text));
  });

  test("goes on at a position that another reader kept", () => {
    writeFileSync(path, "1\n2\n3\n");
    const [first] = new LogTail(path).read();
    expect(values(new LogTail(path, first?.position))).toEqual([2, 3]);
  });

  test("keeps its place when a reader stops in the middle", () => {
    writeFileSync(path, "1\n2\n3\n");
    const tail = new LogTail(path);
    for (const { value } of tail.read()) if (value === 2) break;
    expect(values(tail)).toEqual([3]);
  });

  test("gives undefined for a line that is no JSON", () => {
    writeFileSync(path, "1\n{\n3\n");
    expect(values(new LogTail(path))).toEqual([1, undefined, 3]);
  });

  test("reads a line longer than one piece", () => {
    const long = "x".repeat(3 << 20);
    writeFileSync(path, `"${long}"\n2\n`);
    expect(values(new LogTail(path))).toEqual([long, 2]);
  });

  test("says when the file became shorter than what was read", () => {
    writeFileSync(path, "1\n2\n");
    const tail = new LogTail(path);
    values(tail);
    truncateSync(path, 2);
    expect(() => values(tail)).toThrow("is shorter than what was read of it");
  });

  // A file of this kind says that it is a page long and gives less, as a log does that is cut between
  // the question how long it is and the reading.
  const shorter = "/sys/devices/system/cpu/online";
  test.if(existsSync(shorter))("ends when a file gives less than it said", () => {
    expect(values(new LogTail(shorter))).toEqual([undefined]);
  });

  test("does not wait at a FIFO", () => {
    Bun.spawnSync(["mkfifo", path]);
    expect(() => values(new LogTail(path))).toThrow("not a plain file");
  });
});

describe("waiting for a change", () => {
  test("ends at the bound when nothing changes", async () => {
    writeFileSync(path, "");
    await changed([path], 10);
  });

  test("ends when the file is written, long before the bound", async () => {
    writeFileSync(path, "");
    const begin = performance.now();
    const waiting = changed([path], 60_000);
    appendFileSync(path, "1\n");
    await waiting;
    expect(performance.now() - begin).toBeLessThan(10_000);
  });

  test("ends when it is aborted, and at once when it was", async () => {
    const abort = new AbortController();
    const waiting = changed([join(folder, "missing")], 60_000, abort.signal);
    abort.abort();
    await waiting;
    await changed([path], 60_000, abort.signal);
  });
});
