import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { appendFileSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { endLine, logOf, startLine, stepLine } from "../../test/fixtures/records.ts";
import { outlineLog, readLog } from "./log.ts";
import type { ThreadLog } from "./log.ts";

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "read-test-"));
  path = join(folder, "a.data.jsonl");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function read(bytes: Uint8Array | string): ThreadLog {
  writeFileSync(path, bytes);
  const log = readLog(path);
  if (log.kind !== "thread") throw new Error(`the log is ${log.kind}`);
  return log;
}

const contents = ({ steps }: ThreadLog) => steps.map(({ content }) => content);

describe("a log cut at any byte of its last three records (F1)", () => {
  const lines = [startLine, stepLine("a"), stepLine("b ü"), stepLine("c"), endLine];
  const whole = logOf(...lines);
  const ends: number[] = [];
  for (const line of lines) ends.push((ends.at(-1) ?? 0) + Buffer.byteLength(line) + 1);
  const from = ends[1] as number;

  test("has exactly its complete records, and reports the torn bytes", () => {
    for (let cut = from; cut <= whole.length; cut += 1) {
      const log = read(whole.subarray(0, cut));
      const records = ends.filter((end) => end <= cut).length;
      const size = ends[records - 1] as number;
      expect({ cut, size: log.size, torn: log.torn, broken: log.broken }).toEqual({
        cut,
        size,
        torn: cut - size,
        broken: null,
      });
      expect(log.steps.length + (log.end ? 1 : 0)).toBe(records - 1);
    }
  });

  test("truncated in its start record counts as never created", () => {
    for (let cut = 0; cut < (ends[0] as number); cut += 1) {
      writeFileSync(path, whole.subarray(0, cut));
      expect(readLog(path)).toEqual({ kind: "empty", torn: cut });
    }
  });

  test("filled with zeros is broken, because a crash can't do that to a synced record", () => {
    const before = logOf(startLine, stepLine("a"));
    for (const zeros of [Buffer.alloc(30), Buffer.concat([Buffer.alloc(30), logOf("")])]) {
      const log = read(Buffer.concat([before, zeros]));
      expect([contents(log), log.broken?.offset]).toEqual([["a"], before.length]);
    }
  });
});

describe("a log that is broken in the middle", () => {
  const before = logOf(startLine, stepLine("a"));
  const after = logOf(stepLine("c"), endLine);
  const broken = (middle: Buffer) => {
    const log = read(Buffer.concat([before, middle, after]));
    expect(contents(log)).toEqual(["a"]);
    expect([log.end, log.torn]).toEqual([null, 0]);
    return log.broken;
  };
  const at = { line: 3, offset: before.length };

  const cases: [string, Buffer, string][] = [
    ["a flipped bit", logOf(stepLine("b").replace("{", "[")), "not UTF-8 JSON"],
    ["a deleted newline", Buffer.from(stepLine("b")), "not UTF-8 JSON"],
    ["half a record", logOf(stepLine("b").slice(0, 20)), "not UTF-8 JSON"],
    ["invalid UTF-8", Buffer.from(stepLine("b").replace('"b"', '"\xff"'), "latin1"), "UTF-8"],
    ["an empty line", logOf(""), "not UTF-8 JSON"],
    ["a blank line", logOf("  "), "not UTF-8 JSON"],
    ["a NUL", logOf("\0"), "not UTF-8 JSON"],
    ["a byte order mark", logOf(`\ufeff${stepLine("b")}`), "not UTF-8 JSON"],
    ["two records on one line", logOf(stepLine("b") + stepLine("b")), "not UTF-8 JSON"],
    ["a record over two lines", logOf(stepLine("b").replace(",", ",\n")), "not UTF-8 JSON"],
    ["a number", logOf("1"), "not an object"],
    ["an array", logOf("[]"), "not an object"],
    ["a missing role", logOf('{"content":"","meta":{},"timestamp":1}'), "missing role"],
    ["a missing meta", logOf('{"role":"a","content":"","timestamp":1}'), "missing meta"],
    ["a missing time", logOf('{"role":"a","content":"","meta":{}}'), "missing timestamp"],
  ];
  for (const [what, middle, reason] of cases) {
    test(`by ${what} is reported with line and byte`, () => {
      const found = broken(middle.at(-1) === 10 ? middle : Buffer.concat([middle]));
      expect(found).toMatchObject(at);
      expect(found?.reason).toContain(reason);
    });
  }

  test("by a record after the end is reported", () => {
    const log = read(logOf(startLine, endLine, stepLine("late")));
    expect(log.broken).toMatchObject({ line: 3, reason: "a record follows the end record" });
  });

  test("in the first line is headless", () => {
    writeFileSync(path, logOf("{}", stepLine("a")));
    expect(readLog(path)).toMatchObject({ kind: "headless", broken: { line: 1, offset: 0 } });
  });

  test("far after the first window is reported with its position in the file", () => {
    const padding = Array.from({ length: 3 }, () => stepLine("x".repeat(5 << 20)));
    const head = logOf(startLine, ...padding);
    const log = read(Buffer.concat([head, logOf("{"), logOf(stepLine("b"))]));
    expect(log.broken).toMatchObject({ line: 5, offset: head.length });
    expect(log.steps).toHaveLength(3);
  });
});

describe("a record's content", () => {
  const odd = "\0 \u2028\u2029 \u007f é 漢 😀 \r\n \ud800 __proto__";

  test("is read back unchanged", () => {
    const line = stepLine(odd, { [odd]: odd, n: 2 ** 53, "": null });
    const log = read(logOf(startLine, line));
    expect(log.steps[0]?.content).toBe(odd);
    expect(log.steps[0]?.meta[odd]).toBe(odd);
  });

  test("may have the key __proto__ without changing a prototype", () => {
    const line = '{"role":"a","content":"","meta":{"__proto__":{"role":"evil"}},"timestamp":1}';
    const [step] = read(logOf(startLine, line)).steps;
    expect(Object.keys(step?.meta ?? {})).toEqual(["__proto__"]);
    expect(Object.getPrototypeOf(step?.meta)).toBe(Object.prototype);
  });

  test("may be nested a thousand levels deep", () => {
    const meta = `{"a":${"[".repeat(1000)}${"]".repeat(1000)}}`;
    const line = `{"role":"a","content":"","meta":${meta},"timestamp":1}`;
    expect(read(logOf(startLine, line)).steps).toHaveLength(1);
  });

  test("nested a hundred thousand levels deep is read or reported, without a crash", () => {
    const meta = `{"a":${"[".repeat(100_000)}${"]".repeat(100_000)}}`;
    const log = read(logOf(startLine, `{"role":"a","content":"","meta":${meta},"timestamp":1}`));
    expect(log.steps.length + (log.broken ? 1 : 0)).toBe(1);
  });
});

describe("a long log", () => {
  test("of 100,000 records is outlined in bounded memory", () => {
    const piece = logOf(
      ...Array.from({ length: 1000 }, (_, n) => stepLine(`${n} ${"x".repeat(400)}`)),
    );
    writeFileSync(path, logOf(startLine));
    for (let n = 0; n < 100; n += 1) appendFileSync(path, piece);
    Bun.gc(true);
    const before = process.memoryUsage().rss;
    for (let n = 0; n < 3; n += 1) {
      expect(outlineLog(path)).toMatchObject({ kind: "thread", steps: 100_000, torn: 0 });
      Bun.gc(true);
    }
    expect(process.memoryUsage().rss - before).toBeLessThan(160 * 1024 * 1024);
  });

  test("with a line longer than the window is read", () => {
    const content = "x".repeat(17 << 20);
    expect(contents(read(logOf(startLine, stepLine(content), stepLine("b"))))).toEqual([
      content,
      "b",
    ]);
  });
});

describe("a path that is not a regular file", () => {
  test("is not followed when it is a symbolic link", () => {
    writeFileSync(join(folder, "target"), logOf(startLine));
    symlinkSync(join(folder, "target"), path);
    expect(() => readLog(path)).toThrow("ELOOP");
  });

  test("does not block when it is a FIFO", () => {
    Bun.spawnSync(["mkfifo", path]);
    expect(() => readLog(path)).toThrow("not a regular file");
  });

  test("is not read when it is a folder", () => {
    expect(() => readLog(folder)).toThrow();
  });
});
