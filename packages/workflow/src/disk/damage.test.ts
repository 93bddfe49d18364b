import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { endLine, logOf, sealedLogOf, startLine, stepLine } from "../../test/fixtures/records.ts";
import { readLog } from "./log.ts";
import { FileReader } from "./reader.ts";
import type { Break } from "../record/record.ts";

const hash = "EYHPV6X8XHTCS";
const threadId = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "damage-test-"));
  path = join(folder, hash, `${threadId}.data.jsonl`);
  mkdirSync(dirname(path));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const wait = stepLine("?", { for: "approval" }).replace("count", "__wait__");
const input = stepLine("yes ü", { value: { a: [1.5, null], sum: "0123456789abcdef" } }).replace(
  "count",
  "__input__",
);
const lines = [startLine, stepLine("a 漢"), wait, input, stepLine("b"), endLine];
const whole = sealedLogOf(...lines);
const starts = [0];
for (const [at, byte] of whole.entries()) if (byte === 10) starts.push(at + 1);

const newline = 10;
const linesIn = (log: Buffer): number => log.filter((byte) => byte === newline).length;

const forkLine = JSON.stringify({
  ...(JSON.parse(startLine) as object),
  parameters: { prompt: "ü", options: { maxRounds: 1, cwd: "/", a: [] }, params: { b: null } },
  forkFrom: { threadId: "01BRZ3NDEKTSV4RRFFQ69G5FAV", steps: 1 },
});
const attempt = JSON.stringify({
  ...(JSON.parse(stepLine("{}", { __durable__: { returned: "json", member: 1 } })) as object),
  attempt: "1M81TTMRE6XBC",
});
const lost = stepLine("no", { __durable__: { failure: { name: "Error", message: "no" } } });
const timedOut = stepLine("", { for: "x", timedOut: true }).replace("count", "__input__");
const failed = endLine.replace('"returned"', '"failed","error":{"name":"E","step":2,"code":"C"}');
const killed = endLine.replace('"returned"', '"killed"');
const rounds = endLine.replace('"returned"', '"maxRounds"');

/** Logs with each kind of record. */
const everyKind: [string, Buffer][] = [
  ["of a thread with a question", whole],
  ["of a fork that failed", sealedLogOf(forkLine, attempt, lost, wait, timedOut, failed)],
  ["of a thread that was killed", sealedLogOf(startLine, killed)],
  ["of a thread out of rounds", sealedLogOf(startLine, attempt, rounds)],
  ["of a thread that continues", sealedLogOf(startLine, attempt, wait)],
];

/** Recorded content: the records after the start. */
type Seen = { records: string[]; broken: Break | null };

/** Reads the log both as a whole and incrementally, and checks that the results are equal. */
function seen(bytes: Uint8Array): Seen {
  writeFileSync(path, bytes);
  const log = readLog(path);
  const broken = log.kind === "empty" ? null : log.broken;
  const steps = log.kind === "thread" ? [...log.steps, ...(log.end ? [log.end] : [])] : [];
  const reader = new FileReader({ data: path });
  const followed: string[] = [];
  for (const item of reader.read()) {
    if (item.kind === "step") followed.push(item.step.content);
    if (item.kind === "end") followed.push(item.end.content);
  }
  const records = steps.map(({ content }) => content);
  expect({ broken: reader.facts.broken }).toEqual({ broken });
  if (!broken && whole.length === bytes.length) expect(followed).toEqual(records);
  return { records, broken };
}

describe("damage to a log", () => {
  test.each(everyKind)(
    "by one flipped bit, in any byte %s, is reported",
    (_, log) => {
      const { records, broken } = seen(log);
      expect({ records: records.length, broken }).toEqual({
        records: linesIn(log) - 1,
        broken: null,
      });
      for (let at = 0, line = 1; at < log.length; at += 1) {
        for (let bit = 0; bit < 8; bit += 1) {
          const bytes = Buffer.from(log);
          bytes[at] = (bytes[at] as number) ^ (1 << bit);
          const found = seen(bytes).broken;
          // A start record without its sum looks like a record of an older version; the next record's sum reveals the
          // damage.
          const isNamed = found?.line === line || (line === 1 && found?.line === 2);
          expect({ at, bit, line: found?.line, isNamed }).toMatchObject({ at, bit, isNamed: true });
        }
        if (log[at] === newline) line += 1;
      }
    },
    60_000,
  );

  test("by one flipped bit of a record without its newline is reported", () => {
    const log = sealedLogOf(startLine, attempt).subarray(0, -1);
    for (let at = log.indexOf(newline) + 1; at < log.length; at += 1) {
      for (let bit = 0; bit < 8; bit += 1) {
        const bytes = Buffer.from(log);
        bytes[at] = (bytes[at] as number) ^ (1 << bit);
        const { broken } = seen(bytes);
        expect({ at, bit, line: broken?.line }).toEqual({ at, bit, line: 2 });
      }
    }
  });

  const line = (n: number) => whole.subarray(starts[n], starts[n + 1]);
  const joined = (...numbers: number[]) => Buffer.concat(numbers.map(line));
  const other = sealedLogOf(startLine, stepLine("of another thread"), stepLine("b"));
  const cases: [string, Buffer, number][] = [
    ["a lost line", joined(0, 1, 3, 4, 5), 3],
    ["a lost first step", joined(0, 2, 3, 4, 5), 2],
    ["a duplicate line", joined(0, 1, 1, 2, 3, 4, 5), 3],
    ["two swapped lines", joined(0, 1, 2, 4, 3, 5), 4],
    ["an inserted line", Buffer.concat([joined(0, 1), logOf(stepLine("x")), joined(2, 3)]), 3],
    [
      "a record of another chain",
      Buffer.concat([joined(0, 1), other.subarray(other.lastIndexOf("\n", -2) + 1)]),
      3,
    ],
    ["a sum of another length", Buffer.concat([joined(0), shortened(line(1))]), 2],
    ["a sum that is not last", Buffer.concat([joined(0), moved(line(1)), joined(2)]), 2],
    ["zeros after it", Buffer.concat([joined(0, 1), Buffer.alloc(40)]), 3],
    ["zeros in the last line", zeroed(joined(0, 1, 2), (starts[3] as number) - 20, 20), 3],
    ["zeros in place of the last line", zeroed(joined(0, 1, 2), starts[2] as number), 3],
    ["zeros in its middle", zeroed(whole, (starts[2] as number) + 5, 30), 3],
    ["a letter after it", Buffer.concat([whole, Buffer.from("x")]), 7],
    ["a foreign text after it", Buffer.concat([joined(0, 1), Buffer.from("hello")]), 3],
    ["a start record of another thread", sealedLogOf(startLine.replace("5FAV", "5FAW")), 1],
    ["a start record of another version", sealedLogOf(startLine.replace("EYHP", "0000")), 1],
  ];
  test.each(cases)("by %s is reported with its line", (_, bytes, at) => {
    expect(seen(bytes).broken?.line).toBe(at);
  });

  test("by a crash is a torn record, at any byte", () => {
    const from = starts[4] as number;
    for (let cut = from; cut < (starts[5] as number) - 1; cut += 1) {
      const { records, broken } = seen(whole.subarray(0, cut));
      expect({ cut, records, broken }).toEqual({
        cut,
        records: ["a 漢", "?", "yes ü"],
        broken: null,
      });
    }
  });

  test("by a crash is a torn record, even after a `sum` within the record", () => {
    const sums = stepLine("s", { of: { sum: "0123456789abcdef" } });
    for (const record of [input, sums]) {
      const log = sealedLogOf(startLine, record);
      const from = log.indexOf(newline) + 1;
      for (let cut = from + 1; cut < log.length - 1; cut += 1) {
        writeFileSync(path, log.subarray(0, cut));
        const { broken, torn } = readLog(path, true) as { broken: Break | null; torn: number };
        expect({ cut, broken, torn }).toEqual({ cut, broken: null, torn: cut - from });
      }
    }
  });

  test("of only the last newline does not count: the sum decides", () => {
    writeFileSync(path, whole.subarray(0, -1));
    expect(readLog(path)).toMatchObject({ isEnded: false, broken: null, end: null });
    expect(readLog(path, true)).toMatchObject({ torn: 0, broken: null, end: { content: "done" } });
  });
});

describe("the end of a log", () => {
  const patterns: [string, (at: number) => number][] = [
    ["zeros", () => 0],
    ["ones", () => 0xff],
    ["a letter", () => 0x78],
    ["a digit", () => 0x30],
    ["quotes", () => 0x22],
    ["a quote and a brace", (at) => (at % 2 === 0 ? 0x22 : 0x7d)],
    ["a comma and a quote", (at) => (at % 2 === 0 ? 0x2c : 0x22)],
    ["spaces", () => 0x20],
    ["newlines", () => 0x0a],
  ];

  test.each(patterns)(
    "overwritten by %s at any position of the last two records is damage",
    (_, byteAt) => {
      for (const [, log] of everyKind.filter(([, bytes]) => linesIn(bytes) > 2)) {
        const records = linesIn(log) - 1;
        const from = log.lastIndexOf("\n", log.lastIndexOf("\n", -2) - 1) + 1;
        for (let at = from; at < log.length; at += 1) {
          for (let width = 1; width <= 5 && at + width <= log.length; width += 1) {
            const bytes = Buffer.from(log);
            for (let n = 0; n < width; n += 1) bytes[at + n] = byteAt(n);
            if (bytes.equals(log)) continue;
            writeFileSync(path, bytes);
            const found = readLog(path, true);
            const isNamed = found.kind === "thread" && found.broken !== null;
            // A newline overwritten by a zero is written again: the record before it is complete.
            const isWhole =
              found.kind === "thread" && found.steps.length + (found.end ? 1 : 0) === records;
            expect({ at, width, isSafe: isNamed || isWhole }).toEqual({ at, width, isSafe: true });
          }
        }
      }
    },
    60_000,
  );

  test("overwritten from within the sum of the last record is damage", () => {
    const log = sealedLogOf(startLine, attempt);
    for (const [name, byteAt] of patterns) {
      if (name === "newlines") continue;
      for (let at = log.lastIndexOf('":"', -2) + 1; at < log.length - 1; at += 1) {
        const bytes = Buffer.from(log);
        for (let n = at; n < log.length; n += 1) bytes[n] = byteAt(n - at);
        expect({ name, at, line: seen(bytes).broken?.line }).toEqual({ name, at, line: 2 });
      }
    }
  });

  test.each(everyKind)("cut at any position of the last record %s is torn", (_, log) => {
    const from = log.lastIndexOf("\n", -2) + 1;
    for (let cut = from + 1; cut < log.length - 1; cut += 1) {
      writeFileSync(path, log.subarray(0, cut));
      expect(readLog(path, true)).toMatchObject({ broken: null, size: from, torn: cut - from });
    }
  });

  test("cut within a character is torn, and an invalid character is damage", () => {
    const log = sealedLogOf(startLine, stepLine("€ 𝄞 ü"));
    for (const text of ["€", "𝄞", "ü"]) {
      const at = log.indexOf(text);
      for (let cut = at + 1; cut < at + Buffer.byteLength(text); cut += 1) {
        expect(seen(log.subarray(0, cut)).broken).toBeNull();
        const bytes = Buffer.concat([log.subarray(0, cut), Buffer.from('"')]);
        expect(seen(bytes).broken?.line).toBe(2);
      }
    }
  });
});

describe("a log without sums", () => {
  test("whose last record lacks only its newline can continue after this record", () => {
    const log = logOf(startLine, stepLine("a"));
    for (const bytes of [
      log.subarray(0, -1),
      Buffer.concat([log.subarray(0, -1), Buffer.alloc(1)]),
    ]) {
      writeFileSync(path, bytes);
      expect(readLog(path)).toMatchObject({ isEnded: false, broken: null, steps: [] });
      expect(readLog(path, true)).toMatchObject({ broken: null, steps: [{ content: "a" }] });
    }
  });

  test("whose last record is overwritten with invalid bytes is broken at this record", () => {
    const log = logOf(startLine, stepLine("a"));
    for (const end of ["xx", "}}", "\0\0", '""']) {
      const bytes = Buffer.concat([log.subarray(0, -2), Buffer.from(end)]);
      expect({ end, line: seen(bytes).broken?.line }).toEqual({ end, line: 2 });
    }
  });

  test("is readable", () => {
    writeFileSync(path, logOf(...lines));
    expect(readLog(path)).toMatchObject({ sum: null, broken: null, end: { content: "done" } });
  });

  test("that has a record with a sum is broken at this record", () => {
    const sealed = sealedLogOf(startLine, stepLine("a"));
    const bytes = Buffer.concat([logOf(startLine), sealed.subarray(sealed.indexOf("\n") + 1)]);
    expect(seen(bytes).broken?.line).toBe(2);
  });
});

function shortened(bytes: Buffer): Buffer {
  return Buffer.from(bytes.toString().replace(/[0-9a-f]"\}\n$/, '"}\n'));
}
function moved(bytes: Buffer): Buffer {
  const record = JSON.parse(bytes.toString()) as { sum: string };
  const { sum, ...rest } = record;
  return Buffer.from(`${JSON.stringify({ sum, ...rest })}\n`);
}
function zeroed(bytes: Buffer, from: number, count = bytes.length - from): Buffer {
  return Buffer.from(bytes).fill(0, from, from + count);
}
