import { END, type Step } from "../contract/contract.ts";
import { type EventRecord, readEvent } from "../contract/event.ts";
import { LogFold } from "./fold.ts";
import type { Line } from "./lines.ts";
import {
  type EndRecord,
  type InfoRecord,
  isEnd,
  type StartRecord,
  violationOfRecord,
} from "./record.ts";
import { type Sum, sumIn } from "./sum.ts";
import { badPosition } from "./errors.ts";

/** A position in a thread's two logs: bytes of the data log, and of the debug log. */
export type Position = { data: number; info: number };

/** The position at the start of both logs. */
const origin: Position = { data: 0, info: 0 };
const unbounded: Position = { data: Number.POSITIVE_INFINITY, info: Number.POSITIVE_INFINITY };
const pattern = /^d(\d{1,15})\.i(\d{1,15})$/;

/** Formats a position as a cursor: `d512.i2048`. */
export const cursorOf = ({ data, info }: Position): string => `d${data}.i${info}`;

/**
 * Parses a cursor; without one, returns the start.
 * @throws WorkflowError `BAD_POSITION` (usage).
 */
export function positionOf(cursor: string | undefined): Position {
  if (cursor === undefined) return origin;
  const [, data, info] = pattern.exec(cursor) ?? [];
  if (data === undefined || info === undefined) throw badPosition(cursor);
  return { data: Number(data), info: Number(info) };
}

/**
 * Lines of a log with their byte positions. Bytes after the last newline are not a line yet. A missing log has no
 * lines.
 */
export type Lines = {
  /** Name of the log in messages. */
  readonly path: string;
  /** Yields the lines after a position. `onRead` is called after each read. */
  forward(from?: number, holding?: readonly string[], onRead?: () => void): Iterable<Line>;
  /** Yields the lines, last first. */
  backward(): Iterable<Line>;
  /** Returns the bytes after the last line, which ends at this position. */
  rest(from: number): Buffer;
  /** Returns the position after the last line. */
  end(): number;
  /** Whether a line ends at a position, or the position is the start. */
  endsAt(position: number): boolean;
  /** Counts the lines up to a position, and returns the start of the last line; null when no line ends there. */
  countTo(position: number): { count: number; lastStart: number } | null;
};

/**
 * State of a reader at a position: the number of lines before it, and start and chained checksum of the last line.
 * Another reader can continue there without counting lines.
 */
export type Mark = { data: number; lines: number; lastStart: number; sum: Sum };

/** An item of a thread's logs with the position after it. Steps are counted from 1. */
export type LogItem = { position: Position } & (
  | { kind: "start"; start: StartRecord }
  | { kind: "step"; number: number; step: Step }
  | { kind: "event"; event: EventRecord & InfoRecord }
  | { kind: "end"; end: EndRecord }
);

/**
 * Reads a thread's log and its events as one stream. A reader, even in another process, can continue at the position of
 * any item without a gap or a repetition.
 *
 * An event comes before the step that it belongs to: it carries the step's number and is written to the debug log
 * before the step is written to the log. No file stays open between two reads.
 */
export class LogReader {
  /** Facts about the thread from the log up to the position. */
  readonly facts: LogFold;
  readonly #data: Lines;
  readonly #info: Lines | null;
  #position: Position;
  #lastStart: number;

  /**
   * Reads from a position; without `info` only the log. With a valid mark of that position, the lines before it are not
   * read.
   * @throws WorkflowError `BAD_POSITION` (usage) when no line ends at `from`.
   */
  constructor({
    data,
    info,
    from = origin,
    mark,
  }: {
    data: Lines;
    info?: Lines;
    from?: Position;
    mark?: Mark;
  }) {
    this.#data = data;
    this.facts = new LogFold(data.path);
    this.#info = info ?? null;
    this.#position = from;
    const lines = this.#marked(from, mark) ?? this.#data.countTo(from.data);
    if (lines === null || this.#info?.endsAt(from.info) === false)
      throw badPosition(cursorOf(from));
    this.#lastStart = lines.lastStart;
    const [last] = lines.count > 0 ? this.#data.forward(lines.lastStart) : [];
    if (last) this.facts.skip(lines.count, last);
  }

  /** Returns the content of a mark; null when the log has changed since the mark. */
  #marked({ data }: Position, mark?: Mark): { count: number; lastStart: number } | null {
    if (!mark || mark.data !== data || !this.#data.endsAt(data)) return null;
    const [last] = this.#data.forward(mark.lastStart);
    if (last?.value === undefined || last.position !== data) return null;
    if (sumIn(last.value) !== mark.sum) return null;
    return { count: mark.lines, lastStart: mark.lastStart };
  }

  /** Mark of the current position; null in a log without checksums or before its first line. */
  get mark(): Mark | null {
    const { broken, lines, sum } = this.facts;
    if (broken || lines === 0 || sum === null) return null;
    return { data: this.#position.data, lines, lastStart: this.#lastStart, sum };
  }

  /** Position after the last item. */
  get position(): Position {
    return this.#position;
  }

  /** Whether the log has unread records. */
  get isBehind(): boolean {
    if (this.facts.broken) return false;
    for (const _ of this.#data.forward(this.#position.data)) return true;
    return false;
  }

  /** Returns the position after all complete lines of both logs. */
  newest(): Position {
    // Read the data log's end first: an event is in the debug log before its step is in the data log.
    const data = this.#data.end();
    return { data, info: this.#info?.end() ?? 0 };
  }

  /** Yields the new items up to the position `to`. The caller may stop early. */
  *read(to: Position = unbounded): Generator<LogItem> {
    if (this.facts.broken) return;
    const events = this.#info && new Lookahead(this.#info, this.#position.info);
    try {
      yield* this.#records(events, to);
    } finally {
      events?.close();
    }
  }

  *#records(events: Lookahead | null, to: Position): Generator<LogItem> {
    const { facts } = this;
    let end: Line | null = null;
    for (const line of this.#data.forward(this.#position.data, undefined, () =>
      events?.refresh(),
    )) {
      if (line.position > to.data) break;
      if (end === null && facts.lines > 0 && isEndRecord(line.value)) {
        end = line;
        continue;
      }
      if (events && facts.lines > 0 && end === null)
        yield* this.#events(events, facts.steps + 1, to.info);
      // A record after an end record breaks the log, and the end does not count.
      if (end) facts.take(end);
      const record = facts.take(line);
      if (record === null) {
        facts.end = null;
        return;
      }
      yield this.#give(record, line);
    }
    const isOver = end !== null || facts.end !== null;
    events?.refresh();
    if (events) yield* this.#events(events, isOver ? unbounded.info : facts.steps + 1, to.info);
    const record = end && facts.take(end);
    if (to.data === unbounded.data) this.#takeRest(end);
    if (end && record && !facts.broken) yield this.#give(record, end);
  }

  // Do not yield a whole record without its newline until the newline is written.
  #takeRest(end: Line | null): void {
    const from = end?.position ?? this.#position.data;
    this.facts.takeRest(this.#data.rest(from), from);
    if (this.facts.broken) this.facts.end = null;
  }

  #give(record: StartRecord | Step | EndRecord, { position: data, start }: Line): LogItem {
    this.#lastStart = start;
    const position = (this.#position = { ...this.#position, data });
    if ("parameters" in record) return { kind: "start", start: record, position };
    if (isEnd(record)) return { kind: "end", end: record, position };
    return { kind: "step", number: this.facts.steps, step: record, position };
  }

  /** Yields the new events that precede a step. */
  *#events(events: Lookahead, step: number, to: number): Generator<LogItem> {
    for (let next = events.peek(); next && next.position <= to; next = events.peek()) {
      const event = readEvent(next.value);
      if (event && (event.step ?? 0) > step) return;
      events.take();
      this.#position = { ...this.#position, info: next.position };
      if (!event) continue;
      const whole = { ...(next.value as InfoRecord), ...event };
      yield { kind: "event", event: whole, position: this.#position };
    }
  }
}

/** Lines of a debug log with one line of lookahead. */
class Lookahead {
  readonly #file: Lines;
  #position: number;
  #lines: Iterator<Line> | null = null;
  #next: Line | null = null;
  #mayHaveGrown = true;

  constructor(file: Lines, position: number) {
    this.#file = file;
    this.#position = position;
  }

  /** Returns the next line that was present at the last {@link refresh}, without consuming it. */
  peek(): Line | null {
    while (!this.#next) {
      if (!this.#lines && !this.#mayHaveGrown) return null;
      if (!this.#lines) {
        this.#mayHaveGrown = false;
        this.#lines = this.#file.forward(this.#position)[Symbol.iterator]();
      }
      const { value, done } = this.#lines.next();
      if (done) this.#lines = null;
      else this.#next = value;
    }
    this.#position = this.#next.position;
    return this.#next;
  }

  /** Allows reads after the former end of the log. */
  refresh(): void {
    this.#mayHaveGrown = true;
  }

  take(): void {
    this.#next = null;
  }

  close(): void {
    this.#lines?.return?.();
  }
}

const isEndRecord = (value: unknown): boolean =>
  (value as { role?: unknown } | null | undefined)?.role === END &&
  violationOfRecord(value) === null;
