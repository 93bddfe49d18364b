import { type Line, lineOffsets, linesOf, newline } from "../record/lines.ts";
import type { Lines } from "../record/reader.ts";
import type { ThreadRef } from "../record/thread.ts";
import type { LogName, ThreadStore } from "../store/store.ts";
import { replacedError } from "../record/errors.ts";
import { LogFold } from "../record/fold.ts";
import type { StartRecord } from "../record/record.ts";

const none = Buffer.alloc(0);

/** One of a thread's logs, read from its store. Positions are the same as in a log file. `refresh` reads new lines. */
export class StoredLines implements Lines {
  readonly path: string;
  readonly #read: (cursor?: string) => ReturnType<ThreadStore["read"]>;
  #cursor: string | undefined;
  #buffer = none;
  #length = 0;
  #last: Promise<void> = Promise.resolve();

  constructor(store: ThreadStore, ref: ThreadRef, log: LogName) {
    this.path = store.where(ref, log);
    this.#read = (cursor) => store.read(ref, log, cursor);
  }

  /** Reads the new lines. Concurrent calls run in sequence. @throws WorkflowError `THREAD_NOT_FOUND` */
  async refresh(): Promise<void> {
    const read = this.#last.then(() => this.#refresh());
    this.#last = read.catch(() => undefined);
    await read;
  }

  async #refresh(): Promise<void> {
    for (;;) {
      const { lines, cursor, isEnd } = await this.#read(this.#cursor);
      this.#cursor = cursor;
      if (lines.length > 0) this.#add(Buffer.from(`${lines.join("\n")}\n`));
      if (isEnd) return;
    }
  }

  /**
   * Yields the lines after a position. @throws WorkflowError `LOG_REPLACED` when the log is shorter than the position.
   */
  *forward(from = 0, holding?: readonly string[], onRead?: () => void): Generator<Line> {
    if (from > this.#length) throw replacedError(this.path);
    onRead?.();
    const bytes = this.#buffer.subarray(from, this.#length);
    yield* linesOf({ bytes, start: from, rest: none }, undefined, holding);
  }

  *backward(): Generator<Line> {
    yield* [...this.forward()].toReversed();
  }

  /** Returns an empty buffer, because a store returns only whole lines. */
  rest(): Buffer {
    return none;
  }

  end(): number {
    return this.#length;
  }

  endsAt(position: number): boolean {
    if (position === 0) return true;
    return position <= this.#length && this.#buffer[position - 1] === newline;
  }

  countTo(position: number): { count: number; lastStart: number } | null {
    if (!this.endsAt(position)) return null;
    const offsets = lineOffsets(this.#buffer.subarray(0, position));
    return { count: offsets.length - 1, lastStart: offsets.at(-2) ?? 0 };
  }

  #add(bytes: Buffer): void {
    const length = this.#length + bytes.length;
    if (length > this.#buffer.length) {
      const grown = Buffer.alloc(Math.max(length, this.#buffer.length * 2));
      this.#buffer.copy(grown, 0, 0, this.#length);
      this.#buffer = grown;
    }
    bytes.copy(this.#buffer, this.#length);
    this.#length = length;
  }
}

/** The logs of a thread, which cache the lines that they have read. */
export type StoredLogs = Readonly<Record<LogName, StoredLines>>;

/** Returns the logs of a thread, without reading them. */
export const storedLogs = (store: ThreadStore, ref: ThreadRef): StoredLogs => ({
  data: new StoredLines(store, ref, "data"),
  journal: new StoredLines(store, ref, "journal"),
  events: new StoredLines(store, ref, "events"),
});

/** Reads the start record of a thread; null when it is unreadable. @throws WorkflowError `THREAD_NOT_FOUND` */
export async function firstRecord(
  store: ThreadStore,
  { hash, threadId }: ThreadRef,
): Promise<StartRecord | null> {
  const ref = { hash, threadId };
  const { lines } = await store.read(ref, "data");
  const facts = new LogFold(ref);
  const [first] = linesOf({ bytes: Buffer.from(`${lines[0] ?? ""}\n`), start: 0, rest: none });
  if (first) facts.take(first);
  return facts.start;
}
