import type { Step } from "../contract/contract.ts";
import { withFile } from "./files.ts";
import { LineFile, windowsOf } from "./line-file.ts";
import { type Line, valueOf } from "../record/lines.ts";
import { type ChainFold, LogFold, type OnRecord } from "../record/fold.ts";
import {
  type Break,
  type EndRecord,
  type JournalHead,
  type LogFacts,
  type StartRecord,
  violationOfRecord,
  violationOfStart,
} from "../record/record.ts";
import { bodyOf, type Sum } from "../record/sum.ts";

/**
 * A log's outline: what a list needs of it. `size` counts the bytes of its whole records; `torn` the bytes
 * behind them that are no whole record; with `broken`, `steps` counts those before the break.
 */
export type LogOutline = LogFacts & {
  kind: "thread";
  start: StartRecord;
  steps: number;
  /** For how long the thread has waited up to its last record, in milliseconds. */
  waitedMs: number;
  /** The last record's; null when the log has no sums. */
  sum: Sum | null;
  size: number;
  torn: number;
  /** Whether no whole record, taken or not, stands behind the last newline. */
  isEnded: boolean;
  /** The last head of the journal that a record names. */
  journal: JournalHead | null;
};

export type ThreadLog = Omit<LogOutline, "steps"> & { steps: Step[] };

/** A file whose first record was never whole (`empty`: no thread was ever acknowledged) or is broken. */
export type Unreadable = { kind: "empty"; torn: number } | { kind: "headless"; broken: Break };

/**
 * Reads a thread's log, also while it is written. A record without its newline may not be on the disk yet, and is
 * not there: only who drives the thread next takes it (`withUnended`), if its sum is right. Memory: the steps, and a
 * window of 512 KiB (or the longest line).
 * @throws the system's error when the file can't be opened or read.
 */
export function readLog(path: string, withUnended = false): ThreadLog | Unreadable {
  const steps: Step[] = [];
  const log = fold(path, { withUnended, onStep: (step) => void steps.push(step) });
  return log.kind === "thread" ? { ...log, steps } : log;
}

/**
 * Reads a log as {@link readLog} does, but keeps only its outline: `onStep` gets each step with its text, less its
 * sum and closing brace. It stops reading when `onStep` returns false.
 */
export const scanLog = (path: string, onStep: OnStep): LogOutline | Unreadable =>
  fold(path, { onStep });

/** Reads a log as {@link readLog} does, but keeps only its outline. */
export const outlineLog = (path: string): LogOutline | Unreadable => fold(path, {});

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

/** The last whole line of a log, read from the end of the file. What precedes it may be broken all the same. */
export function readLast(path: string): LogLast {
  const [line] = new LineFile(path).backward();
  if (!line) return { kind: "empty" };
  if (line.value === undefined) return { kind: "unclear" };
  if (line.start === 0) return { kind: "record", record: null, size: line.position };
  if (violationOfRecord(line.value) !== null) return { kind: "unclear" };
  return { kind: "record", record: line.value as Step | EndRecord, size: line.position };
}

type OnStep = (step: Step, body: Buffer) => boolean | void;
type FoldOptions = { withUnended?: boolean; onStep?: OnStep };

function fold(path: string, { withUnended = false, onStep }: FoldOptions): LogOutline | Unreadable {
  const facts = new LogFold(path);
  const { size, torn, isEnded } = foldFile(path, facts, withUnended, (record, line) => {
    if (record !== facts.last) return true;
    return onStep?.(facts.last, bodyOf(line, facts.sum !== null)) !== false;
  });
  const { start, broken, end, last, steps, waitedMs, sum, journal } = facts;
  const outline = { broken, end, last, steps, waitedMs, sum, journal, size, torn, isEnded };
  if (start) return { kind: "thread", start, ...outline };
  return broken ? { kind: "headless", broken } : { kind: "empty", torn };
}

/** How a log's file ends, as {@link LogOutline} has it. */
export type FileEnd = { size: number; torn: number; isEnded: boolean };

/**
 * Has a fold take the records of a file; `onRecord` gives false to leave it there. With `withUnended` a whole record
 * without its newline counts.
 * @throws the system's error when the file can't be opened or read.
 */
export function foldFile<Entry>(
  path: string,
  facts: ChainFold<Entry>,
  withUnended: boolean,
  onRecord: OnRecord<Entry>,
): FileEnd {
  let size = 0;
  let torn = 0;
  let isEnded = true;
  let isLeft = false;
  const taken: OnRecord<Entry> = (record, line, position) => {
    size = position;
    isLeft = onRecord(record, line, position) === false;
    return !isLeft;
  };
  const takeUnended = (line: Line) => {
    const record = facts.take(line);
    if (record) taken(record, line.bytes, line.position);
  };
  withFile(path, (fd) => {
    for (const window of windowsOf(fd)) {
      facts.takeAll(window, taken);
      if (isLeft) return;
      const unended = facts.takeRest(window.rest, size);
      isEnded = unended === null;
      const isTaken = unended !== null && withUnended;
      if (isTaken) takeUnended(unended);
      torn = window.rest.length - (isTaken ? unended.bytes.length : 0);
      if (facts.broken) return;
    }
  });
  return { size, torn, isEnded };
}
