import { fstatSync } from "node:fs";
import type { Step } from "../contract/contract.ts";
import {
  isUnwritten,
  LineFile,
  lineOffsets,
  parseLine,
  readFully,
  valuesOf,
  type Window,
  windowsOf,
  withFile,
} from "./line-file.ts";
import {
  type EndRecord,
  isEnd,
  type StartRecord,
  violationOfRecord,
  violationOfStart,
} from "./record.ts";

const newline = 10;

/** Where a log is broken, other than at its very end. `line` counts from 1, `offset` in bytes. */
export type Break = { line: number; offset: number; reason: string };

/** What a log shows of its thread's status. */
export type LogFacts = { broken: Break | null; end: EndRecord | null; last: Step | null };

/** The one fold from a log's records, in their order, to the state of its thread. It is incremental. */
export class LogFold implements LogFacts {
  start: StartRecord | null = null;
  /** The last step, and how many there are. */
  last: Step | null = null;
  steps = 0;
  end: EndRecord | null = null;
  broken: Break | null = null;
  #lines = 0;

  /** How many records were taken. */
  get lines(): number {
    return this.#lines;
  }

  /** Begins behind so many lines, of which this is the last. */
  skip(lines: number, last: unknown): void {
    this.#lines = lines;
    this.steps = Math.max(0, lines - 1);
    if (lines < 2 || violationOfRecord(last) !== null) return;
    const record = last as Step | EndRecord;
    if (!isEnd(record)) this.last = record;
    else {
      this.end = record;
      this.steps -= 1;
    }
  }

  /**
   * Takes the next line's value; `offset` gives where it begins. Null: the log is broken there, or before.
   */
  take(value: unknown, offset: () => number): StartRecord | Step | EndRecord | null {
    if (this.broken) return null;
    const reason = this.#violation(value);
    if (reason !== null) {
      this.broken = { line: this.#lines + 1, offset: offset(), reason };
      return null;
    }
    this.#lines += 1;
    if (this.#lines === 1) return (this.start = value as StartRecord);
    const record = value as Step | EndRecord;
    if (isEnd(record)) return (this.end = record);
    this.steps += 1;
    return (this.last = record);
  }

  #violation(value: unknown): string | null {
    if (value === undefined) return "the line is no JSON in UTF-8";
    if (this.#lines === 0) return violationOfStart(value);
    return this.end ? "a record stands after the end record" : violationOfRecord(value);
  }
}

/**
 * A log as it was read. `size` counts the bytes of its whole records; `torn` the bytes behind them that
 * are no whole record; with `broken`, `steps` holds those before the break.
 */
export type ThreadLog = {
  kind: "thread";
  start: StartRecord;
  steps: Step[];
  end: EndRecord | null;
  size: number;
  torn: number;
  broken: Break | null;
};

/** A log's outline: what a list needs of it. `last` is the last step. */
export type LogOutline = Omit<ThreadLog, "steps" | "kind"> & {
  kind: "outline";
  steps: number;
  last: Step | null;
};

/** A file whose first record was never whole (`empty`: no thread was ever acknowledged) or is broken. */
export type Unreadable = { kind: "empty"; torn: number } | { kind: "headless"; broken: Break };

/**
 * Reads a thread's log. It may be read while it is written: what stands behind the last newline is not
 * there yet. Memory: the steps, and a window of 8 MiB (or the longest line) of the file.
 *
 * @throws the system's error when the file can't be opened or read.
 */
export const readLog = (path: string): ThreadLog | Unreadable =>
  withFile(path, (fd) => collect(windowsOf(fd)));

/** Reads a log as {@link readLog} does, all of its bytes at once, and gives them too. */
export function readLogBytes(path: string): { log: ThreadLog | Unreadable; bytes: Uint8Array } {
  return withFile(path, (fd) => {
    const buffer = Buffer.allocUnsafe(fstatSync(fd).size);
    const bytes = buffer.subarray(0, readFully(fd, buffer, 0));
    const end = bytes.lastIndexOf(newline) + 1;
    const torn = bytes.length - end;
    return {
      log: collect([{ bytes: bytes.subarray(0, end), start: 0, torn, final: true }]),
      bytes,
    };
  });
}

/** Reads a log as {@link readLog} does, but keeps only its outline. */
export function outlineLog(path: string): LogOutline | Unreadable {
  const { fold, ...length } = withFile(path, (fd) => foldOf(windowsOf(fd), () => {}));
  const { start, end, broken, steps, last } = fold;
  if (!start) return unreadable(fold, length.torn);
  return { kind: "outline", start, end, broken, steps, last, ...length };
}

/** The start record of a log, or null when its first line is none. Reads no more than it must. */
export function readStart(path: string): StartRecord | null {
  return withFile(path, (fd) => {
    const [window] = windowsOf(fd, 0, 4 * 1024);
    if (!window || window.bytes.length === 0) return null;
    const value = parseLine(window.bytes.subarray(0, window.bytes.indexOf(newline)));
    return violationOfStart(value) === null ? (value as StartRecord) : null;
  });
}

/**
 * How a log ends: with a step or an end record; with its start record alone (`record` is null); not yet
 * with any line (`empty`); or `unclear`, which only the whole log can show. `size` counts the bytes of its whole lines.
 */
export type LogLast =
  | { kind: "record"; record: Step | EndRecord | null; size: number }
  | { kind: "empty" | "unclear" };

/**
 * The last whole line of a log. Only as much of the file's end is read as that line and a torn one behind
 * it take. What precedes it may be broken all the same.
 */
export function readLast(path: string): LogLast {
  const [line] = new LineFile(path).backward();
  if (!line) return { kind: "empty" };
  if (line.value === undefined) return { kind: "unclear" };
  if (line.start === 0) return { kind: "record", record: null, size: line.position };
  if (violationOfRecord(line.value) !== null) return { kind: "unclear" };
  return { kind: "record", record: line.value as Step | EndRecord, size: line.position };
}

function collect(windows: Iterable<Window>): ThreadLog | Unreadable {
  const steps: Step[] = [];
  const { fold, ...length } = foldOf(windows, (step) => steps.push(step));
  const { start, end, broken } = fold;
  if (!start) return unreadable(fold, length.torn);
  return { kind: "thread", start, steps, end, broken, ...length };
}

const unreadable = ({ broken }: LogFold, torn: number): Unreadable =>
  broken ? { kind: "headless", broken } : { kind: "empty", torn };

function foldOf(
  windows: Iterable<Window>,
  onStep: (step: Step) => void,
): { fold: LogFold; size: number; torn: number } {
  const fold = new LogFold();
  let size = 0;
  let torn = 0;
  for (const { bytes, start, torn: behind, final } of windows) {
    let line = 0;
    const offset = () => lineOffsets(bytes)[line] ?? 0;
    for (const value of valuesOf(bytes) ?? parsed(bytes)) {
      const record = fold.take(value, () => start + offset());
      if (record === null) {
        const at = offset();
        if (value !== undefined || !final || !isUnwritten(bytes, at))
          return { fold, size: start + at, torn: behind };
        fold.broken = null;
        return { fold, size: start + at, torn: bytes.length - at + behind };
      }
      if (record === fold.last) onStep(fold.last);
      line += 1;
    }
    size = start + bytes.length;
    torn = behind;
  }
  return { fold, size, torn };
}

function* parsed(bytes: Buffer): Generator {
  for (let offset = 0; offset < bytes.length; ) {
    const end = bytes.indexOf(newline, offset);
    yield parseLine(bytes.subarray(offset, end));
    offset = end + 1;
  }
}
