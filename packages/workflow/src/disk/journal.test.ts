import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { sealedLogOf } from "../../test/fixtures/records.ts";
import { JournalFold } from "../record/journal.ts";
import type { JournalHead } from "../record/record.ts";
import { checkJournal, readJournal } from "./journal.ts";
import { journalPath, type Root } from "./paths.ts";

const hash = "EYHPV6X8XHTCS";
const threadId = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
const ref = { hash, threadId };
let root: Root;
let path: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "journal-damage-")) as Root;
  path = journalPath(root, hash, threadId);
  mkdirSync(dirname(path), { recursive: true });
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const text = (record: object): string => JSON.stringify({ ...record, at: 1 });
const usage = { input_tokens: 3, output_tokens: 1 };
const records = [
  { kind: "journal", hash, threadId },
  { kind: "worker", steps: 0 },
  { kind: "attempt", attempt: "a", role: "coder", step: 1 },
  { kind: "attempt", attempt: "b", role: "inner", parent: "a", step: 1 },
  { kind: "call", call: "c1", model: "m", attempt: "b", stepID: "inner" },
  { kind: "usage", call: "c1", model: "m", usage, cost: 0.5, state: "whole", attempt: "b" },
  { kind: "entry", key: "k:coder:1", entry: { n: "ü 漢" }, attempt: "a" },
  { kind: "call", call: "c2", model: "m", attempt: "a" },
  { kind: "later", of: "a newer version" },
  { kind: "failed", attempt: "a" },
];
const whole = sealedLogOf(...records.map(text));
const starts = [0];
for (const [at, byte] of whole.entries()) if (byte === 10) starts.push(at + 1);
const line = (n: number) => whole.subarray(starts[n], starts[n + 1]);
const joined = (...numbers: number[]) => Buffer.concat(numbers.map(line));

function headOf(bytes: Buffer): JournalHead {
  writeFileSync(path, bytes);
  return readJournal(path, null).fold.head;
}

const breakOf = (bytes: Buffer, head: JournalHead | null = null) => {
  writeFileSync(path, bytes);
  return checkJournal(root, ref, head);
};

describe("a journal", () => {
  test("has the records, their attempts, and the cost of calls", () => {
    writeFileSync(path, whole);
    const { fold, end, broken } = readJournal(path, null);
    expect({ broken, torn: end?.torn, lines: fold.lines }).toEqual({
      broken: null,
      torn: 0,
      lines: records.length,
    });
    expect(fold.chainOf("b")).toEqual(["b", "a"]);
    expect(fold.attempts.get("a")?.status).toBe("failed");
    expect([...fold.calls.values()]).toMatchObject([
      { call: "c1", attempt: "b", stepID: "inner", usage, cost: 0.5, state: "whole" },
      { call: "c2", attempt: "a", cost: null, state: "open" },
    ]);
  });

  test("assigns a call to the last attempt that reuses its result", () => {
    const taken = (attempt: string, ...calls: string[]) =>
      text({ kind: "entry", key: "k", entry: 1, attempt, taken: calls });
    writeFileSync(path, sealedLogOf(...records.map(text), taken("x", "c1"), taken("y", "c1", "z")));
    const { calls, attempts } = readJournal(path, null).fold;
    expect(calls.get("c1")?.attempt).toBe("y");
    // Calls that another thread paid for are not in the journal.
    expect([attempts.get("x")?.isForeign, attempts.get("y")?.isForeign]).toEqual([false, true]);
  });

  test("marks attempts as lost that were open at the next worker's start", () => {
    writeFileSync(
      path,
      sealedLogOf(...records.slice(0, 4).map(text), text({ kind: "worker", steps: 1 })),
    );
    const { attempts } = readJournal(path, null).fold;
    expect([...attempts.values()].map(({ status }) => status)).toEqual(["lost", "lost"]);
  });

  test("that is missing counts as empty", () => {
    expect(readJournal(path, null)).toMatchObject({ end: null, broken: null });
  });
});

describe("damage to a journal", () => {
  test("by one flipped bit, in any byte, is reported with its line", () => {
    for (let at = 0, number = 1; at < whole.length; at += 1) {
      for (let bit = 0; bit < 8; bit += 1) {
        const bytes = Buffer.from(whole);
        bytes[at] = (bytes[at] as number) ^ (1 << bit);
        expect({ at, bit, line: breakOf(bytes)?.line }).toEqual({ at, bit, line: number });
      }
      if (whole[at] === 10) number += 1;
    }
  }, 60_000);

  const foreign = sealedLogOf(
    ...records.slice(0, 3).map(text),
    text({ kind: "failed", attempt: "b" }),
  );
  const cases: [string, Buffer, number][] = [
    ["a lost line", joined(0, 1, 3, 4, 5), 3],
    ["a lost first line", joined(1, 2, 3), 1],
    ["a duplicate line", joined(0, 1, 2, 2, 3), 4],
    ["a duplicate first line", joined(0, 0, 1), 2],
    ["two swapped lines", joined(0, 1, 3, 2, 4), 3],
    ["a line of another journal", Buffer.concat([joined(0, 1), foreign.subarray(starts[3])]), 3],
    ["zeros after it", Buffer.concat([joined(0, 1), Buffer.alloc(40)]), 3],
    ["a foreign text after it", Buffer.concat([joined(0, 1), Buffer.from("hello")]), 3],
    ["records without sums", Buffer.from(`${records.map(text).join("\n")}\n`), 1],
    [
      "the journal of another thread",
      sealedLogOf(text({ ...records[0], threadId: `${threadId.slice(0, -1)}W` })),
      1,
    ],
  ];
  test.each(cases)("by %s is reported with its line", (_, bytes, at) => {
    expect(breakOf(bytes)?.line).toBe(at);
  });

  test("is detected by the thread's log when lines at its end, or all lines, are missing", () => {
    const head = headOf(joined(0, 1, 2, 3, 4));
    for (let count = 0; count < 5; count += 1) {
      const left = joined(...Array.from({ length: count }, (_, n) => n));
      expect(breakOf(left, head)).toMatchObject({ line: count + 1 });
    }
    rmSync(path);
    expect(checkJournal(root, ref, head)).toMatchObject({
      line: 1,
      reason: "5 records counted by the thread's log are missing",
    });
    for (let count = 5; count < records.length; count += 1) {
      const left = joined(...Array.from({ length: count }, (_, n) => n));
      expect(breakOf(left, head)).toBeNull();
    }
  });

  test("is detected by the thread's log when another journal is in its place", () => {
    const head = headOf(whole);
    const other = sealedLogOf(...records.map((one) => text({ ...one, at: 2, more: 1 })));
    expect(breakOf(other, head)?.line).toBe(records.length);
  });

  test("by a crash is a torn record, at any byte", () => {
    const from = starts[6] as number;
    for (let cut = from; cut < (starts[7] as number) - 1; cut += 1) {
      writeFileSync(path, whole.subarray(0, cut));
      const { fold, end, broken } = readJournal(path, null, true);
      expect({ cut, broken, lines: fold.lines, torn: end?.torn }).toEqual({
        ...{ cut, broken: null, lines: 6 },
        torn: cut - from,
      });
    }
  });

  test("of only the last newline does not count: the sum decides", () => {
    writeFileSync(path, whole.subarray(0, -1));
    expect(readJournal(path, null).fold.lines).toBe(records.length - 1);
    const taken = readJournal(path, null, true);
    expect(taken).toMatchObject({ broken: null, end: { torn: 0, isEnded: false } });
    expect(taken.fold.lines).toBe(records.length);
  });
});

test("a fold that takes the lines one by one has the same head as a fold of the file", () => {
  writeFileSync(path, whole);
  const all = readJournal(path, null).fold;
  const fold = new JournalFold(path, null);
  for (let n = 0; n < records.length; n += 1) {
    const bytes = line(n).subarray(0, -1);
    fold.take({ value: JSON.parse(bytes.toString()), bytes, start: starts[n] ?? 0, position: 0 });
  }
  expect(fold.head).toEqual(all.head);
});
