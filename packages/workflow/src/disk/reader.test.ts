import { afterEach, beforeEach, expect, spyOn, test } from "bun:test";
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { endLine, sealedLogOf, startLine, stepLine } from "../../test/fixtures/records.ts";
import { isWorkflowError } from "../contract/error.ts";
import { dataPath, infoPath, type Root } from "./paths.ts";
import { openRoot } from "./root.ts";
import { LineFile } from "./line-file.ts";
import { cursorOf, type LogItem, type Position, positionOf } from "../record/reader.ts";
import { FileReader } from "./reader.ts";

const ref = { hash: "EYHPV6X8XHTCS", threadId: "01ARZ3NDEKTSV4RRFFQ69G5FAV" };
let root: Root;
let data: string;
let info: string;

beforeEach(() => {
  root = openRoot({ path: mkdtempSync(join(tmpdir(), "log-reader-")) });
  data = dataPath(root, ref.hash, ref.threadId);
  info = infoPath(root, ref.hash, ref.threadId);
  mkdirSync(dirname(data), { recursive: true });
});

afterEach(() => rmSync(root, { recursive: true, force: true }));

const event = (seq: number, step: number): string =>
  JSON.stringify({ tag: "AAAAAAAA", content: "e", timestamp: 1, type: "e", seq, step });
const plain = JSON.stringify({ tag: "BBBBBBBB", content: "a note", timestamp: 1 });

const write = (path: string, ...lines: string[]) =>
  appendFileSync(path, lines.map((line) => `${line}\n`).join(""));

const shown = (item: LogItem): string =>
  item.kind === "step"
    ? `step ${item.number}`
    : item.kind === "event"
      ? `event ${item.event.seq}`
      : item.kind;

const reader = (from?: Position) => new FileReader({ data, info, ...(from && { from }) });
const all = (from?: Position, to?: Position) => [...reader(from).read(to)];
const thrown = (act: () => unknown): string => {
  try {
    act();
    return "nothing";
  } catch (error) {
    return isWorkflowError(error) ? error.code : String(error);
  }
};

function writeWhole(): void {
  write(data, startLine, stepLine("a"), stepLine("b"), endLine);
  write(info, plain, event(1, 1), event(2, 1), plain, event(3, 2), event(4, 3), plain);
}

test("each event comes before its step, and the rest before the end", () => {
  writeWhole();
  expect(all().map(shown)).toEqual([
    ...["start", "event 1", "event 2", "step 1", "event 3", "step 2", "event 4", "end"],
  ]);
});

test("a read can begin after any item, and end at any later item", () => {
  writeWhole();
  const items = all();
  for (const [at, { position }] of items.entries()) {
    expect(all(position).map(shown)).toEqual(items.slice(at + 1).map(shown));
    for (const [to, { position: end }] of items.entries()) {
      if (to < at) continue;
      expect(all(position, end).map(shown)).toEqual(items.slice(at + 1, to + 1).map(shown));
    }
  }
});

test("a reader that stopped in the middle of a log continues there", () => {
  writeWhole();
  const log = reader();
  const found: string[] = [];
  for (let n = 0; n < 20; n += 1) {
    for (const item of log.read()) {
      found.push(shown(item));
      break;
    }
  }
  expect(found).toEqual(all().map(shown));
  expect(log.facts.steps).toBe(2);
  expect(log.facts.end?.meta.returnCode).toBe(0);
});

test("items written between two reads are read once, with each event before its step", () => {
  const log = reader();
  const found: string[] = [];
  const read = () => found.push(...[...log.read()].map(shown));
  read();
  write(data, startLine);
  read();
  write(info, event(1, 1));
  read();
  write(info, event(2, 2));
  read();
  write(data, stepLine("a"));
  read();
  appendFileSync(data, stepLine("b").slice(0, 10));
  read();
  appendFileSync(data, `${stepLine("b").slice(10)}\n`);
  write(info, event(3, 3));
  read();
  write(data, endLine);
  read();
  expect(found).toEqual(["start", "event 1", "step 1", "event 2", "step 2", "event 3", "end"]);
});

test("a reader that begins after the end knows the end and the number of steps", () => {
  writeWhole();
  const last = all().at(-1)?.position;
  const behind = reader(last);
  expect([...behind.read()]).toEqual([]);
  expect(behind.facts.end?.content).toBe("done");
  expect(behind.facts.steps).toBe(2);
});

test("a reader stops at an invalid record, and names its line", () => {
  write(data, startLine, stepLine("a"), "{}", stepLine("b"));
  const log = reader();
  expect([...log.read()].map(shown)).toEqual(["start", "step 1"]);
  expect(log.facts.broken).toMatchObject({ line: 3, reason: "missing role" });
  expect([...log.read()]).toEqual([]);
});

test("a log that continues after its end record is broken, and the end does not count", () => {
  write(data, startLine, stepLine("a"), endLine, stepLine("b"));
  const log = reader();
  expect([...log.read()].map(shown)).toEqual(["start", "step 1"]);
  expect(log.facts).toMatchObject({ end: null, broken: { line: 4 } });
});

test("a missing log is read as empty", () => {
  const log = reader();
  expect([...log.read()]).toEqual([]);
  expect(log.exists).toBe(false);
});

test("a position that is not at the end of a line is refused", () => {
  writeWhole();
  const size = readFileSync(data).length;
  for (let bytes = 1; bytes <= size + 1; bytes += 1) {
    const ends = readFileSync(data)[bytes - 1] === 10;
    const from = { data: bytes, info: 0 };
    expect(thrown(() => reader(from))).toBe(ends ? "nothing" : "BAD_POSITION");
  }
  expect(thrown(() => reader({ data: 0, info: 3 }))).toBe("BAD_POSITION");
});

test("a second reader continues from a mark without counting earlier lines, unless the log was replaced", () => {
  const whole = sealedLogOf(startLine, stepLine("a"), stepLine("b"), stepLine("c"), endLine);
  const lines = whole.toString().split("\n");
  const upTo = (count: number) =>
    lines
      .slice(0, count)
      .map((line) => `${line}\n`)
      .join("");
  appendFileSync(data, upTo(3));
  const first = new FileReader({ data });
  expect([...first.read()].map(shown)).toEqual(["start", "step 1", "step 2"]);
  const mark = first.mark ?? undefined;
  appendFileSync(data, upTo(5).slice(upTo(3).length));
  const counts = spyOn(LineFile.prototype, "countTo");
  const again = () => new FileReader({ data, from: first.position, ...(mark && { mark }) });
  try {
    expect([...again().read()].map(shown)).toEqual(["step 3", "end"]);
    expect(counts).not.toHaveBeenCalled();
    // A replaced log is counted from its start.
    writeFileSync(data, sealedLogOf(startLine, stepLine("x"), stepLine("b"), endLine));
    expect([...again().read()].map(shown)).toEqual(["end"]);
    expect(counts).toHaveBeenCalledTimes(1);
    writeFileSync(data, upTo(2));
    expect(thrown(again)).toBe("BAD_POSITION");
  } finally {
    counts.mockRestore();
  }
});

test("the newest position of a reader is after all complete lines", () => {
  expect(reader().newest()).toEqual({ data: 0, info: 0 });
  writeWhole();
  const end = all().at(-1)?.position;
  appendFileSync(data, '{"role":');
  const { data: size, info: behind } = reader().newest();
  expect([size, all({ data: size, info: behind })]).toEqual([end?.data ?? 0, []]);
});

test("a position round-trips through text, and other texts are refused", () => {
  const position = { data: 512, info: 0 };
  expect(cursorOf(position)).toBe("d512.i0");
  expect(positionOf("d512.i0")).toEqual(position);
  for (const text of [
    "",
    "d1",
    "d1.i",
    "d-1.i0",
    "d1.i1 ",
    "D1.I1",
    "d1e3.i0",
    `d${"9".repeat(16)}.i0`,
  ]) {
    expect(thrown(() => positionOf(text))).toBe("BAD_POSITION");
  }
});
