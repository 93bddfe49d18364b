import type { Step } from "../contract/contract.ts";
import { withFile } from "../storage/files.ts";
import { LineFile, linesOf, valueOf, type Window, windowsOf } from "./line-file.ts";
import {
  type EndRecord,
  isEnd,
  type StartRecord,
  violationOfRecord,
  violationOfStart,
} from "./record.ts";

/** Where a log is broken, other than at its very end. `line` counts from 1, `offset` in bytes. */
export type Break = { line: number; offset: number; reason: string };

/** What a log shows of its thread's status. `last` is its last step. */
export type LogFacts = { broken: Break | null; end: EndRecord | null; last: Step | null };

/** The one fold from a log's records, in their order, to the state of its thread. It is incremental. */
export class LogFold implements LogFacts {
  start: StartRecord | null = null;
  last: Step | null = null;
  steps = 0;
  end: EndRecord | null = null;
  broken: Break | null = null;
  /** How many records were taken. */
  lines = 0;

  /** Begins behind so many lines, of which this is the last. */
  skip(lines: number, last: unknown): void {
    this.lines = lines;
    this.steps = Math.max(0, lines - 1);
    if (lines < 2 || violationOfRecord(last) !== null) return;
    const record = last as Step | EndRecord;
    if (!isEnd(record)) this.last = record;
    else {
      this.end = record;
      this.steps -= 1;
    }
  }

  /** Takes the value of the next line, which begins at `offset`. Null: the log is broken there, or before. */
  take(value: unknown, offset: number): StartRecord | Step | EndRecord | null {
    if (this.broken) return null;
    const reason = this.#violation(value);
    if (reason !== null) {
      this.broken = { line: this.lines + 1, offset, reason };
      return null;
    }
    this.lines += 1;
    if (this.lines === 1) return (this.start = value as StartRecord);
    const record = value as Step | EndRecord;
    if (isEnd(record)) return (this.end = record);
    this.steps += 1;
    return (this.last = record);
  }

  #violation(value: unknown): string | null {
    if (value === undefined) return "the line is no JSON in UTF-8";
    if (this.lines === 0) return violationOfStart(value);
    return this.end ? "a record stands after the end record" : violationOfRecord(value);
  }
}

/**
 * A log's outline: what a list needs of it. `size` counts the bytes of its whole records; `torn` the bytes
 * behind them that are no whole record; with `broken`, `steps` counts those before the break.
 */
export type LogOutline = LogFacts & {
  kind: "thread";
  start: StartRecord;
  steps: number;
  size: number;
  torn: number;
};

/** A log as it was read. */
export type ThreadLog = Omit<LogOutline, "steps"> & { steps: Step[] };

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

/** Reads a log as {@link readLog} does, all of its lines at once, and gives their bytes too. */
export function readLogBytes(path: string): { log: ThreadLog | Unreadable; bytes: Uint8Array } {
  return withFile(path, (fd) => {
    const windows = [...windowsOf(fd, { size: Number.POSITIVE_INFINITY })];
    return { log: collect(windows), bytes: windows[0]?.bytes ?? new Uint8Array() };
  });
}

/** Reads a log as {@link readLog} does, but keeps only its outline. */
export const outlineLog = (path: string): LogOutline | Unreadable =>
  withFile(path, (fd) => outline(windowsOf(fd)));

/** The start record of a log, or null when its first line is none. Reads no more than it must. */
export function readStart(path: string): StartRecord | null {
  return withFile(path, (fd) => {
    const [window] = windowsOf(fd, { size: 4 * 1024 });
    const value = window && valueOf(window.bytes.subarray(0, window.bytes.indexOf("\n")));
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
  const log = outline(windows, (step) => steps.push(step));
  return log.kind === "thread" ? { ...log, steps } : log;
}

function outline(
  windows: Iterable<Window>,
  onStep?: (step: Step) => void,
): LogOutline | Unreadable {
  const fold = new LogFold();
  let size = 0;
  let torn = 0;
  for (const window of windows) {
    torn = window.torn;
    for (const line of linesOf(window)) {
      const record = fold.take(line.value, line.start);
      if (record === null) break;
      if (record === fold.last) onStep?.(fold.last);
      size = line.position;
    }
    if (fold.broken) break;
  }
  const { start, broken, end, last, steps } = fold;
  if (start) return { kind: "thread", start, broken, end, last, steps, size, torn };
  return broken ? { kind: "headless", broken } : { kind: "empty", torn };
}
