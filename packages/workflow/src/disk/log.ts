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
 * A log's outline, for lists. `size` is the number of bytes of its complete records, `torn` the number of bytes after
 * them. With `broken`, `steps` counts the steps before the break.
 */
export type LogOutline = LogFacts & {
  kind: "thread";
  start: StartRecord;
  steps: number;
  /** Waiting time of the thread up to its last record, in milliseconds. */
  waitedMs: number;
  /** Sum of the last record; null in a log without sums. */
  sum: Sum | null;
  size: number;
  torn: number;
  /** False when the file ends with a complete record that lacks its newline. */
  isEnded: boolean;
  /** The journal's head from the last record that has one; null if no record has one. */
  journal: JournalHead | null;
};

/** A log with its steps. */
export type ThreadLog = Omit<LogOutline, "steps"> & { steps: Step[] };

/**
 * A log without a valid first record: `empty` if the first record is incomplete (the thread was never acknowledged).
 */
export type Unreadable = { kind: "empty"; torn: number } | { kind: "headless"; broken: Break };

/**
 * Reads a thread's log, also during writes. Ignores a record without its newline, because it may not be durable yet.
 * Only the next driver of the thread accepts it, with `withUnended`, if its sum is valid. Needs memory for the steps
 * and for a window of 512 KiB or the longest line.
 * @throws the system's error when the file can't be opened or read.
 */
export function readLog(path: string, withUnended = false): ThreadLog | Unreadable {
  const steps: Step[] = [];
  const log = fold(path, { withUnended, onStep: (step) => void steps.push(step) });
  return log.kind === "thread" ? { ...log, steps } : log;
}

/**
 * Reads a log like {@link readLog}, but keeps only the outline. `onStep` receives each step with its text, without the
 * sum and the closing brace. Stops when `onStep` returns false.
 */
export const scanLog = (path: string, onStep: OnStep): LogOutline | Unreadable =>
  fold(path, { onStep });

/** Reads a log like {@link readLog}, but keeps only the outline. */
export const outlineLog = (path: string): LogOutline | Unreadable => fold(path, {});

/** Reads the start record of a log; null when its first line is not a start record. Reads only the first line. */
export function readStart(path: string): StartRecord | null {
  return withFile(path, (fd) => {
    const [window] = windowsOf(fd, { size: 4 * 1024 });
    const value = window && valueOf(window.bytes.subarray(0, window.bytes.indexOf("\n")));
    return violationOfStart(value) === null ? (value as StartRecord) : null;
  });
}

/**
 * The end of a log. `record` is a step or an end record; null for a log with only its start record. `empty`: the log
 * does not have a complete line yet. `unclear`: the last line is invalid, so the whole log must be read. `size` is the
 * number of bytes of the complete lines.
 */
export type LogLast =
  | { kind: "record"; record: Step | EndRecord | null; size: number }
  | { kind: "empty" | "unclear" };

/** Reads the last complete line of a log, from the end of the file. Does not check earlier lines. */
export function readLast(path: string): LogLast {
  const [line] = new LineFile(path).backward();
  if (!line) return { kind: "empty" };
  if (line.value === undefined) return { kind: "unclear" };
  if (line.start === 0) return { kind: "record", record: null, size: line.position };
  if (violationOfRecord(line.value) !== null) return { kind: "unclear" };
  return { kind: "record", record: line.value as Step | EndRecord, size: line.position };
}

type OnStep = (step: Step, body: Buffer, start: StartRecord) => boolean | void;
type FoldOptions = { withUnended?: boolean; onStep?: OnStep };

function fold(path: string, { withUnended = false, onStep }: FoldOptions): LogOutline | Unreadable {
  const facts = new LogFold(path);
  const { size, torn, isEnded } = foldFile(path, facts, withUnended, (record, line) => {
    if (record !== facts.last) return true;
    const body = bodyOf(line, facts.sum !== null);
    return onStep?.(facts.last, body, facts.start as StartRecord) !== false;
  });
  const { start, broken, end, last, steps, waitedMs, sum, journal } = facts;
  const outline = { broken, end, last, steps, waitedMs, sum, journal, size, torn, isEnded };
  if (start) return { kind: "thread", start, ...outline };
  return broken ? { kind: "headless", broken } : { kind: "empty", torn };
}

/** The end of a log's file, as in {@link LogOutline}. */
export type FileEnd = { size: number; torn: number; isEnded: boolean };

/**
 * Folds the records of a file into `facts`. `onRecord` returns false to stop. With `withUnended`, a complete record
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
