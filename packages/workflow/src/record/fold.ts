import type { Step } from "../contract/contract.ts";
import { type Line, lineOffsets, linesOf, valueOf, type Window } from "./lines.ts";
import {
  type Break,
  type EndRecord,
  isEnd,
  type JournalHead,
  type LogFacts,
  type StartRecord,
  takeHead,
  violationOfRecord,
  violationOfStart,
} from "./record.ts";
import { firstSum, lastSum, nextSum, type Sum, sumIn, wholeLength } from "./sum.ts";
import { Waited } from "./times.ts";
import { beginsRecord, isWholeWithoutSum } from "./torn.ts";

type ThreadRef = { hash: string; threadId: string };
type LogRecord = StartRecord | Step | EndRecord;

/** Called with a record, its line, and the position after it. Returns false to stop. */
export type OnRecord<Entry> = (record: Entry, line: Buffer, position: number) => boolean | void;

/** Folds the records of a chained log, in order and incrementally. */
export abstract class ChainFold<Entry> {
  broken: Break | null = null;
  /** Number of records read. */
  lines = 0;
  /** Sum of the last record; null in a log of an earlier version, without sums. */
  sum: Sum | null = firstSum;
  /** The thread to which the log must belong; null when unknown. */
  readonly #owner: ThreadRef | null;
  /** Whether a log without sums counts as damaged, instead of as a log of an earlier version. */
  protected readonly needsSums: boolean = false;

  /** @param of The thread to which the log must belong, or the log's path, which contains the thread's id. */
  constructor(of: string | ThreadRef) {
    if (typeof of !== "string") this.#owner = of;
    else {
      const [, hash, threadId] = ownerPattern.exec(of) ?? [];
      this.#owner = hash && threadId ? { hash, threadId } : null;
    }
  }

  /** Returns the reason why a value can't be the next record; null when it can. */
  protected abstract violation(value: unknown): string | null;
  /** Adds a valid next record, which `lines` already counts. */
  protected abstract record(value: unknown): Entry;

  /** Adds the next line. Returns null when the log is broken there or earlier. */
  take({ value, bytes, start }: Line): Entry | null {
    if (this.broken) return null;
    const reason = this.#violation(value) ?? this.#takeSum(value, bytes);
    return reason === null ? this.#record(value) : this.#break(start, reason);
  }

  /** Adds the lines of a window, and passes each record to `onRecord`. */
  takeAll(window: Window, onRecord: OnRecord<Entry>): void {
    const { bytes } = window;
    const offsets = lineOffsets(bytes);
    const sum = this.sum === null ? null : lastSum(bytes, offsets, this.sum);
    if (sum === null) return this.takeEach(window, onRecord);
    this.sum = sum;
    for (const { value, bytes: line, start: at, position } of linesOf(window, offsets)) {
      const reason = this.#violation(value);
      if (reason !== null) return void this.#break(at, reason);
      if (onRecord(this.#record(value), line, position) === false) return;
    }
  }

  protected takeEach(window: Window, onRecord: OnRecord<Entry>): void {
    for (const line of linesOf(window)) {
      const record = this.take(line);
      if (record === null || onRecord(record, line.bytes, line.position) === false) return;
    }
  }

  /**
   * Checks the bytes after the last newline, which begin at `start`. Returns a whole record without its newline as a
   * line. The start of a record is a torn write of a crash. Any other bytes mean that the log is broken there.
   */
  takeRest(bytes: Buffer, start: number): Line | null {
    if (this.broken || bytes.length === 0) return null;
    const length = this.#wholeLength(bytes);
    // A single NUL in place of the newline is a lost write, not damage.
    const isUnended =
      length === bytes.length || (length === bytes.length - 1 && bytes[length] === 0);
    if (length !== null && isUnended) {
      const record = bytes.subarray(0, length);
      return { value: valueOf(record), bytes: record, start, position: start + length };
    }
    const isBeginning = beginsRecord(bytes, this.sum);
    if (length !== null) this.#break(start + length, "missing newline after the record");
    else if (!isBeginning) this.#break(start, "the bytes after the last record are not a record");
    return null;
  }

  /** Returns the length of the record at the start of the bytes; null without a whole record at the start. */
  #wholeLength(bytes: Buffer): number | null {
    const isFirst = this.lines === 0;
    const length = this.sum === null ? null : wholeLength(bytes, this.sum);
    if (length !== null || (this.sum !== null && !isFirst)) return length;
    const end = bytes.length - (bytes.at(-1) === 0 ? 1 : 0);
    return isWholeWithoutSum(bytes.subarray(0, end), isFirst) ? end : null;
  }

  #break(offset: number, reason: string): null {
    this.broken = { line: this.lines + 1, offset, reason };
    return null;
  }

  #record(value: unknown): Entry {
    // The sum belongs to the log: bundles and readers get the record without it.
    if ((value as { sum?: unknown }).sum !== undefined) delete (value as { sum?: unknown }).sum;
    this.lines += 1;
    return this.record(value);
  }

  #violation(value: unknown): string | null {
    return value === undefined ? "the line is not UTF-8 JSON" : this.violation(value);
  }

  /** Returns the reason why a first record does not name this log's thread; null when it does. */
  protected violationOfOwner({ hash, threadId }: ThreadRef): string | null {
    const owner = this.#owner;
    if (!owner || (owner.hash === hash && owner.threadId === threadId)) return null;
    return `the first record names the thread ${threadId} of ${hash}`;
  }

  #takeSum(value: unknown, line: Buffer): string | null {
    const hasSum = Object.hasOwn(value as object, "sum");
    if (this.lines === 0 && !hasSum && !this.needsSums) this.sum = null;
    if (this.sum === null)
      return hasSum ? "unexpected sum: the records before this record lack sums" : null;
    const sum = nextSum(line, this.sum);
    if (sum === null) return hasSum ? "wrong sum" : "missing sum";
    this.sum = sum;
    return null;
  }
}

/** Computes a thread's state from its log's records. */
export class LogFold extends ChainFold<LogRecord> implements LogFacts {
  start: StartRecord | null = null;
  last: Step | null = null;
  steps = 0;
  end: EndRecord | null = null;
  /** The last journal head named by a record. */
  journal: JournalHead | null = null;
  #waited: Waited | null = null;

  /** Waiting time of the thread up to its last record, in milliseconds. */
  get waitedMs(): number {
    return this.#waited?.ms ?? 0;
  }

  /** Skips the first `lines` lines, given the last skipped line. */
  skip(lines: number, { value }: Line): void {
    this.lines = lines;
    this.sum = sumIn(value);
    this.steps = lines - 1;
    if (lines < 2 || violationOfRecord(value) !== null) return;
    const record = value as Step | EndRecord;
    if (!isEnd(record)) this.last = record;
    else {
      this.end = record;
      this.steps -= 1;
    }
  }

  protected override record(value: unknown): LogRecord {
    // Copied steps name the journal of their source.
    const isCopied = this.lines > 1 && this.lines - 1 <= (this.start?.forkFrom?.steps ?? 0);
    const head = takeHead(value);
    if (head && !isCopied) this.journal = head;
    if (this.lines === 1) {
      this.start = value as StartRecord;
      this.#waited = new Waited(this.start.timestamp);
      return this.start;
    }
    const record = value as Step | EndRecord;
    this.#waited?.take(record);
    if (isEnd(record)) return (this.end = record);
    this.steps += 1;
    return (this.last = record);
  }

  protected override violation(value: unknown): string | null {
    if (this.lines > 0)
      return this.end ? "a record follows the end record" : violationOfRecord(value);
    return violationOfStart(value) ?? this.violationOfOwner(value as StartRecord);
  }
}

const ownerPattern = /([0-9A-Z]{13})[/\\]([0-9A-Z]{26})\.(?:data|journal)\.jsonl$/;
