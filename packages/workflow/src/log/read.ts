import { closeSync, constants, fstatSync, readSync } from "node:fs";
import { isUtf8 } from "node:buffer";
import type { Step } from "../contract/contract.ts";
import { openOwnFile } from "../storage/read.ts";
import {
  type Break,
  type EndRecord,
  faultOfRecord,
  faultOfStart,
  isEnd,
  type StartRecord,
  type ThreadLog,
  type Unreadable,
} from "./record.ts";

const newline = 10;
const windowSize = 8 * 1024 * 1024;
const headSize = 4 * 1024;

/** A log's outline: what a list needs of it. `last` is the last step. */
export type LogOutline = Omit<ThreadLog, "steps" | "kind"> & {
  kind: "outline";
  steps: number;
  last: Step | null;
};

/**
 * Reads a thread's log. It may be read while it is written: what stands after the last newline is
 * not there yet. Memory: the steps, and a window of 8 MiB (or the longest line) of the file.
 *
 * @throws the system's error when the file can't be opened or read.
 */
export function readLog(path: string): ThreadLog | Unreadable {
  return withFile(path, (fd) => collect(windows(fd)));
}

/** Reads a log as {@link readLog} does, all of its bytes at once, and gives them too. */
export function readLogBytes(path: string): { log: ThreadLog | Unreadable; bytes: Buffer } {
  return withFile(path, (fd) => {
    const buffer = Buffer.allocUnsafe(fstatSync(fd).size);
    const bytes = buffer.subarray(0, readFully(fd, buffer, 0));
    const end = bytes.lastIndexOf(newline) + 1;
    const whole = { bytes: bytes.subarray(0, end), torn: bytes.length - end, final: true };
    return { log: collect([whole]), bytes };
  });
}

/** The start record of a log, or null when its first line is none. Reads no more than it must. */
export function readStart(path: string): StartRecord | null {
  return withFile(path, (fd) => {
    for (let capacity = headSize; ; capacity *= 4) {
      const buffer = Buffer.allocUnsafe(capacity);
      const bytes = buffer.subarray(0, readFully(fd, buffer, 0));
      const end = bytes.indexOf(newline);
      if (end < 0 && bytes.length === capacity) continue;
      const value = end < 0 ? undefined : parseLine(bytes.subarray(0, end));
      return faultOfStart(value) ? null : (value as StartRecord);
    }
  });
}

/** Has a file of the storage root read while it is open. */
export function withFile<T>(path: string, read: (fd: number) => T): T {
  const fd = openOwnFile(path, constants.O_RDONLY);
  try {
    return read(fd);
  } finally {
    closeSync(fd);
  }
}

function collect(pieces: Iterable<Window>): ThreadLog | Unreadable {
  const steps: Step[] = [];
  const found = scan(pieces, (step) => steps.push(step));
  if (!found.start) return unreadable(found);
  return { ...found, kind: "thread", start: found.start, steps };
}

/** Reads a log as {@link readLog} does, but keeps only its outline. */
export function outlineLog(path: string): LogOutline | Unreadable {
  let steps = 0;
  let last: Step | null = null;
  const found = withFile(path, (fd) =>
    scan(windows(fd), (step) => {
      steps += 1;
      last = step;
    }),
  );
  if (!found.start) return unreadable(found);
  return { ...found, kind: "outline", start: found.start, steps, last };
}

type Scan = {
  start: StartRecord | null;
  end: EndRecord | null;
  size: number;
  torn: number;
  broken: Break | null;
};

function unreadable({ broken, torn }: Scan): Unreadable {
  return broken ? { kind: "headless", broken } : { kind: "empty", torn };
}

function scan(pieces: Iterable<Window>, onStep: (step: Step) => void): Scan {
  const found: Scan = { start: null, end: null, size: 0, torn: 0, broken: null };
  let line = 0;
  const onValue = (value: unknown): string | null => {
    line += 1;
    if (line === 1) {
      const fault = faultOfStart(value);
      if (!fault) found.start = value as StartRecord;
      return fault;
    }
    if (found.end) return "a record stands after the end record";
    const fault = faultOfRecord(value);
    if (fault) return fault;
    const record = value as Step | EndRecord;
    if (isEnd(record)) found.end = record;
    else onStep(record);
    return null;
  };
  for (const window of pieces) {
    found.torn = window.torn;
    const broken = readWindow(window.bytes, onValue);
    if (broken && isUnwritten(window, broken)) {
      found.torn += window.bytes.length - broken.offset;
      found.size += broken.offset;
      break;
    }
    if (broken) {
      found.broken = {
        ...broken,
        line: line + (broken.seen ? 0 : 1),
        offset: found.size + broken.offset,
      };
      break;
    }
    found.size += window.bytes.length;
  }
  return found;
}

type Window = { bytes: Buffer; torn: number; final: boolean };

/** The file in pieces that end with a newline; the last says how many bytes stand after it. */
function* windows(fd: number): Generator<Window> {
  const total = fstatSync(fd).size;
  let position = 0;
  let capacity = windowSize;
  while (position < total) {
    const buffer = Buffer.allocUnsafe(Math.min(capacity, total - position));
    const length = readFully(fd, buffer, position);
    const end = buffer.subarray(0, length).lastIndexOf(newline) + 1;
    const final = length < buffer.length || position + length >= total;
    if (end === 0 && !final) {
      capacity *= 2;
      continue;
    }
    yield { bytes: buffer.subarray(0, end), torn: final ? length - end : 0, final };
    if (final) return;
    position += end;
    capacity = windowSize;
  }
}

/** Fills a buffer from a position on; gives how many bytes there were. */
export function readFully(fd: number, buffer: Buffer, position: number): number {
  let length = 0;
  while (length < buffer.length) {
    const n = readSync(fd, buffer, length, buffer.length - length, position + length);
    if (n === 0) break;
    length += n;
  }
  return length;
}

type Fault = { offset: number; reason: string; seen: boolean };

function readWindow(bytes: Buffer, onValue: (value: unknown) => string | null): Fault | null {
  const values = valuesOf(bytes);
  if (!values) return readSlowly(bytes, onValue);
  for (const [index, value] of values.entries()) {
    const reason = onValue(value);
    if (reason) return { offset: lineOffsets(bytes)[index] as number, reason, seen: true };
  }
  return null;
}

// Bun's parser refuses two values on one line and passes over blank lines and line ends inside a
// value, so as many values as newlines means one value on each line.
function valuesOf(bytes: Buffer): unknown[] | null {
  if (!isUtf8(bytes)) return null;
  try {
    const values = Bun.JSONL.parse(bytes);
    return values.length === countLines(bytes) ? values : null;
  } catch {
    return null;
  }
}

function readSlowly(bytes: Buffer, onValue: (value: unknown) => string | null): Fault | null {
  for (let offset = 0; offset < bytes.length; ) {
    const end = bytes.indexOf(newline, offset);
    const line = bytes.subarray(offset, end);
    const value = parseLine(line);
    if (value === undefined) return { offset, reason: "the line is no JSON in UTF-8", seen: false };
    const reason = onValue(value);
    if (reason) return { offset, reason, seen: true };
    offset = end + 1;
  }
  return null;
}

/** The value of a line without its newline; undefined when it is no JSON in UTF-8. */
export function parseLine(line: Buffer): unknown {
  if (!isUtf8(line)) return undefined;
  try {
    return JSON.parse(line.toString("utf8"));
  } catch {
    return undefined;
  }
}

function countLines(bytes: Buffer): number {
  let count = 0;
  for (let at = bytes.indexOf(newline); at >= 0; at = bytes.indexOf(newline, at + 1)) count += 1;
  return count;
}

/** Where each whole line begins, and last where the line after them would. */
export function lineOffsets(bytes: Buffer): number[] {
  const offsets = [0];
  for (let at = bytes.indexOf(newline); at >= 0; at = bytes.indexOf(newline, at + 1)) {
    offsets.push(at + 1);
  }
  return offsets;
}

// After a loss of power the last line may have its newline and holes of zeros before it: blocks that
// never reached the disk. Such a line was never acknowledged, and is torn, not broken.
function isUnwritten({ bytes, final }: Window, fault: Fault): boolean {
  if (!final || fault.seen) return false;
  const end = bytes.indexOf(newline, fault.offset);
  return end === bytes.length - 1 && bytes.subarray(fault.offset, end).includes(0);
}
