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
import { FileWatch } from "./watch.ts";
import { LineFile } from "./line-file.ts";

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "follow-test-"));
  path = join(folder, "a.data.jsonl");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** A reader that continues at its last position. */
class Reader {
  position: number;
  constructor(from = 0) {
    this.position = from;
  }

  *lines(): Generator {
    for (const { value, position } of new LineFile(path).forward(this.position)) {
      this.position = position;
      yield value;
    }
  }
}
const values = (reader = new Reader()) => [...reader.lines()];

describe("the lines of a file, forward", () => {
  test("of a missing file are empty", () => {
    expect(values()).toEqual([]);
  });

  test("are yielded once each, when they are complete", () => {
    const reader = new Reader();
    const text = '{"a":1}\n{"b":"ü"}\n[3]\n';
    const seen: unknown[] = [];
    for (const byte of Buffer.from(text)) {
      appendFileSync(path, Buffer.from([byte]));
      seen.push(...values(reader));
    }
    expect(seen).toEqual([{ a: 1 }, { b: "ü" }, [3]]);
    expect(reader.position).toBe(Buffer.byteLength(text));
  });

  test("continue at a position, also after a reader stopped between two lines", () => {
    writeFileSync(path, "1\n2\n3\n");
    const reader = new Reader();
    for (const value of reader.lines()) if (value === 2) break;
    expect(values(reader)).toEqual([3]);
    expect(values(new Reader(2))).toEqual([2, 3]);
  });

  test("have the value undefined for invalid JSON, and for lines without a wanted text", () => {
    writeFileSync(path, "1\n{\n3\n");
    expect(values()).toEqual([1, undefined, 3]);
    const held = [...new LineFile(path).forward(0, ["3"])].map(({ value }) => value);
    expect(held).toEqual([undefined, undefined, 3]);
  });

  test("may be longer than one window", () => {
    const long = "x".repeat(3 << 20);
    writeFileSync(path, `"${long}"\n2\n`);
    expect(values()).toEqual([long, 2]);
  });

  test("end before a partial last line", () => {
    writeFileSync(path, `1\n{"a":${"\0".repeat(9)}\n`);
    expect(values()).toEqual([1]);
    appendFileSync(path, "3\n");
    expect(values()).toEqual([1, undefined, 3]);
  });

  test("are refused when the file became shorter than the part already read", () => {
    writeFileSync(path, "1\n2\n");
    const reader = new Reader();
    values(reader);
    truncateSync(path, 2);
    expect(() => values(reader)).toThrow("is shorter than the part already read");
  });

  // Files of this kind report a size of one page but contain less, like a log that is truncated between the size query
  // and the read.
  const shorter = "/sys/devices/system/cpu/online";
  test.if(existsSync(shorter))("end when a file is shorter than its reported size", () => {
    expect([...new LineFile(shorter).forward()]).toHaveLength(1);
  });

  test("do not wait for a FIFO", () => {
    Bun.spawnSync(["mkfifo", path]);
    expect(() => values()).toThrow("not a regular file");
  });
});

describe("the lines of a file, backward", () => {
  const lengths = [10, 65_400, 65_536, 200_000, 3, 300_000, 4094, 4095, 4096, 1];
  const backward = () => [...new LineFile(path).backward()];

  test("are the lines of the file, last first, for any window size", () => {
    const lines = lengths.map((length, n) => ({ n, text: "ü".repeat(length) }));
    writeFileSync(path, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
    const forward = [...new LineFile(path).forward()];
    expect(backward()).toEqual(forward.toReversed());
    expect(new LineFile(path).end()).toBe(forward.at(-1)?.position ?? 0);
  });

  test("skip a torn line, and have the value undefined for invalid JSON", () => {
    writeFileSync(path, `1\n\n{\n4\n${"x".repeat(9000)}`);
    expect(backward().map(({ value }) => value)).toEqual([4, undefined, undefined, 1]);
    expect(new LineFile(path).end()).toBe(7);
  });

  test("are empty for a file that is missing, empty, or without a complete line", () => {
    expect(backward()).toEqual([]);
    for (const text of ["", "x", "x".repeat(9000)]) {
      writeFileSync(path, text);
      expect([backward(), new LineFile(path).end()]).toEqual([[], 0]);
    }
  });
});

describe("waiting for a change", () => {
  /** A time in milliseconds that is longer than the timeout of a test. */
  const forever = 3_600_000;

  async function changed(paths: string[], atMostMs: number, signal?: AbortSignal): Promise<void> {
    const watch = new FileWatch(paths, signal);
    await watch.changed(atMostMs);
    watch.close();
  }

  test("ends at the timeout when nothing changes", async () => {
    writeFileSync(path, "");
    await changed([path], 10);
  });

  test("ends when the file is written, long before the timeout", async () => {
    writeFileSync(path, "");
    const waiting = changed([path], 600_000);
    appendFileSync(path, "1\n");
    await waiting;
  });

  test("ends when it is aborted, and at once after an earlier abort", async () => {
    const abort = new AbortController();
    const waiting = changed([join(folder, "missing")], forever, abort.signal);
    abort.abort();
    await waiting;
    await changed([path], forever, abort.signal);
  });

  test("reports earlier changes, and new files", async () => {
    const watch = new FileWatch([path]);
    writeFileSync(path, "");
    await watch.changed(10);
    appendFileSync(path, "1\n");
    await watch.changed(600_000);
    watch.close();
  });
});
