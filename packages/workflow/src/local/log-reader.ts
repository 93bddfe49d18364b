import { closeSync, constants, existsSync, fstatSync, readSync } from "node:fs";
import type { Step } from "../contract/contract.ts";
import { type EventRecord, readEvent } from "../contract/event.ts";
import { systemCode } from "../storage/disk-error.ts";
import { dataPath, infoPath, type Root } from "../storage/paths.ts";
import {
  type EndRecord,
  type InfoRecord,
  type StartRecord,
  faultOfRecord,
  faultOfStart,
  isEnd,
} from "../log/record.ts";
import { openOwnFile } from "../storage/read.ts";
import { FileWatch, LogTail, type Tailed } from "../log/follow.ts";
import type { LogFacts } from "../thread/status.ts";
import type { ThreadRef } from "../thread/thread.ts";
import { badPosition, beginning, type Position, showPosition } from "./position.ts";

/** What stands in a thread's files, with the position behind it. Steps are counted from 1. */
export type LogItem = { position: Position } & (
  | { kind: "start"; start: StartRecord }
  | { kind: "step"; number: number; step: Step }
  | { kind: "event"; event: EventRecord & InfoRecord }
  | { kind: "end"; end: EndRecord }
);

const newline = 10;
const pieceSize = 256 * 1024;
const unbounded: Position = { data: Number.POSITIVE_INFINITY, info: Number.POSITIVE_INFINITY };

/**
 * Reads a thread's log and its events as one stream that can be left and taken up at any item's
 * position, also by another process: what comes behind a position is what was not given before it.
 *
 * Each event comes before the step that it led to, as `EventWatch` has it. Nothing is held open
 * between two reads.
 */
export class LogReader {
  readonly #data: string;
  readonly #info: string;
  readonly #hasEvents: boolean;
  #position: Position;
  #lines = 0;
  #last: Step | null = null;
  #end: EndRecord | null = null;
  #broken: LogFacts["broken"] = null;

  /** @throws WorkflowError `BAD_POSITION` (usage) when no line ends at `from`. */
  constructor(
    root: Root,
    { hash, threadId }: ThreadRef,
    from: Position = beginning,
    { events = true }: { events?: boolean } = {},
  ) {
    this.#hasEvents = events;
    this.#data = dataPath(root, hash, threadId);
    this.#info = infoPath(root, hash, threadId);
    this.#position = from;
    this.#passOver(from);
  }

  /** Behind the last item that was given. */
  get position(): Position {
    return this.#position;
  }

  /** How many steps stand before the position. */
  get steps(): number {
    return Math.max(0, this.#lines - (this.#end ? 2 : 1));
  }

  /** What the log says so far of how the thread stands. */
  get facts(): LogFacts {
    return { broken: this.#broken, end: this.#end, last: this.#last };
  }

  /** The items that are new, up to the position `to`. It may be left before it is through. */
  *read(to: Position = unbounded): Generator<LogItem> {
    if (this.#broken) return;
    const events = new Ahead(this.#info, this.#position.info);
    try {
      yield* this.#records(events, to);
    } finally {
      events.close();
    }
  }

  *#records(events: Ahead, to: Position): Generator<LogItem> {
    let end: { record: EndRecord; position: number } | null = null;
    for (const { value, position } of new LogTail(this.#data, this.#position.data).read()) {
      if (position > to.data) break;
      const fault = this.#lines === 0 ? faultOfStart(value) : faultOfRecord(value);
      if (fault !== null || end || this.#end) {
        const reason = fault ?? "a record stands behind the end";
        const line = this.#lines + (end ? 2 : 1);
        this.#broken = { line, offset: end?.position ?? this.#position.data, reason };
        return;
      }
      const record = value as StartRecord | Step | EndRecord;
      if ("role" in record && isEnd(record)) end = { record, position };
      else {
        if (this.#lines > 0) yield* this.#events(events, this.#lines, to.info);
        yield this.#give(record, position);
      }
    }
    yield* this.#events(events, end || this.#end ? unbounded.info : this.#lines, to.info);
    if (end) yield this.#give(end.record, end.position);
  }

  /** Calls back whenever the system says that one of the files has changed. */
  watch(onChange: () => void): FileWatch {
    return new FileWatch(this.#hasEvents ? [this.#data, this.#info] : [this.#data], onChange);
  }

  /** Whether the log is there: a thread may be removed while it is read. */
  get exists(): boolean {
    return existsSync(this.#data);
  }

  /** Whether the log has records that were not given yet. */
  isBehind(): boolean {
    if (this.#broken) return false;
    const { value } = new LogTail(this.#data, this.#position.data).read().next();
    return value !== undefined;
  }

  #give(record: StartRecord | Step | EndRecord, data: number): LogItem {
    this.#lines += 1;
    const position = (this.#position = { ...this.#position, data });
    if ("parameters" in record) return { kind: "start", start: record, position };
    if (!isEnd(record)) {
      this.#last = record;
      return { kind: "step", number: this.#lines - 1, step: record, position };
    }
    this.#end = record;
    return { kind: "end", end: record, position };
  }

  /** The new events of the steps up to one. */
  *#events(events: Ahead, step: number, to: number): Generator<LogItem> {
    if (!this.#hasEvents) return;
    for (;;) {
      const next = events.peek();
      if (!next || next.position > to) return;
      const event = readEvent(next.value);
      if (event && (event.step ?? 0) > step) return;
      events.take();
      this.#position = { ...this.#position, info: next.position };
      if (!event) continue;
      const whole = { ...(next.value as InfoRecord), ...event };
      yield { kind: "event", event: whole, position: this.#position };
    }
  }

  #passOver(from: Position): void {
    const lines = linesBefore(this.#data, from.data);
    const isThere = lines !== null && linesBefore(this.#info, from.info, true) !== null;
    if (!isThere) throw badPosition(showPosition(from));
    this.#lines = lines.count;
    if (lines.count < 2) return;
    const [last] = new LogTail(this.#data, lines.lastBegins).read();
    if (faultOfRecord(last?.value)) return;
    const record = last?.value as Step | EndRecord;
    if (isEnd(record)) this.#end = record;
    else this.#last = record;
  }
}

/** The lines of a debug log, with one look ahead. */
class Ahead {
  readonly #log: LogTail;
  #lines: Generator<Tailed> | null = null;
  #next: Tailed | null = null;

  constructor(path: string, position: number) {
    this.#log = new LogTail(path, position);
  }

  /** The line that comes next. A file that was read to its end may have grown since. */
  peek(): Tailed | null {
    return (this.#next ??= this.#pull() ?? this.#pull());
  }

  take(): void {
    this.#next = null;
  }

  close(): void {
    this.#lines?.return(undefined);
  }

  #pull(): Tailed | null {
    this.#lines ??= this.#log.read();
    const { value, done } = this.#lines.next();
    if (!done) return value;
    this.#lines = null;
    return null;
  }
}

type Lines = { count: number; lastBegins: number };

/** The lines before a number of bytes, or null when no line ends there; only looked at when `last`. */
function linesBefore(path: string, bytes: number, last = false): Lines | null {
  if (bytes === 0) return { count: 0, lastBegins: 0 };
  let fd: number;
  try {
    fd = openOwnFile(path, constants.O_RDONLY);
  } catch (error) {
    if (systemCode(error) === "ENOENT") return null;
    throw error;
  }
  try {
    return fstatSync(fd).size < bytes ? null : count(fd, last ? bytes - 1 : 0, bytes);
  } finally {
    closeSync(fd);
  }
}

function count(fd: number, from: number, to: number): Lines | null {
  const buffer = Buffer.allocUnsafe(Math.min(pieceSize, to - from));
  const found = { count: 0, lastBegins: 0 };
  let ends = 0;
  for (let at = from; at < to; ) {
    const length = readSync(fd, buffer, 0, Math.min(buffer.length, to - at), at);
    if (length === 0) return null;
    const piece = buffer.subarray(0, length);
    for (
      let place = piece.indexOf(newline);
      place >= 0;
      place = piece.indexOf(newline, place + 1)
    ) {
      found.count += 1;
      found.lastBegins = ends;
      ends = at + place + 1;
    }
    at += length;
  }
  return ends === to ? found : null;
}
