import {
  type Appended,
  blobIdOf,
  type Claim,
  type ClaimOptions,
  FencedError,
  recordTooLong,
  refusals,
  sealed,
  sumText,
  type ThreadInfo,
  type ThreadRef,
  type ThreadState,
} from "@uncaged/workflow/store";
import { type Database, promptMs } from "../database/database.ts";
import type { Logs } from "./logs.ts";
import { infoOf, isHeld, logNumbers, type ThreadRow } from "./rows.ts";
import type { Batch, Head, Line, Result, Source, Writer } from "./writer.ts";

/** Maximum bytes of a record. */
export const maxRecordBytes = 64 * 1024 * 1024;
/** Maximum bytes of a value and of all values of a thread, as in a storage root. */
const maxValueBytes = 32 * 1024 * 1024;
const maxValuesBytes = 256 * 1024 * 1024;
/** Delay between an event and its write if nothing else is appended, in milliseconds. */
const eventsAfterMs = 50;
/** Maximum characters of a row of events, unless its only event is longer. */
export const rowChars = 128 * 1024;

export type ClaimParts = {
  database: Database;
  writer: Writer;
  /** Called once, when the claim is lost or released. */
  onOver: (claim: PostgresClaim) => void;
};

type Pending = { resolve: (appended: Appended) => void; reject: (error: unknown) => void };

/** A claim on a thread in PostgreSQL. Queues the calls, and writes them in order. */
export class PostgresClaim implements Claim, Source {
  readonly ref: ThreadRef;
  readonly fence: number;
  readonly thread: ThreadInfo;
  readonly start: Claim["start"];
  readonly steps: Claim["steps"];
  readonly end: Claim["end"];
  readonly journalHead: Claim["journalHead"];
  readonly cut = null;
  readonly lastSeq: number;
  readonly #parts: ClaimParts;
  readonly #leaseMs: number;
  readonly #lost = new AbortController();
  /** The checksums of the last queued records. */
  readonly #sums: { data: bigint; journal: bigint };
  /** The heads of the logs after the last written batch. */
  #written: Head;
  /** The heads of the logs after all queued calls. */
  #head: Head;
  #lines: Line[] = [];
  #events: string[] = [];
  #pending: Pending[] = [];
  #sent: { head: Head; pending: Pending[] } | null = null;
  #timer: ReturnType<typeof setTimeout> | null = null;
  #isEnded: boolean;
  #isReleased = false;

  constructor(parts: ClaimParts, row: ThreadRow, logs: Logs, { leaseMs }: ClaimOptions) {
    this.#parts = parts;
    this.#leaseMs = leaseMs;
    this.ref = { hash: row.hash, threadId: row.thread_id };
    this.fence = row.fence;
    this.thread = infoOf(row);
    ({ start: this.start, steps: this.steps, end: this.end } = logs);
    this.journalHead = logs.journalHead;
    this.lastSeq = row.last_seq;
    this.#sums = { ...logs.sums };
    this.#isEnded = this.thread.state.kind === "ended";
    this.#head = {
      ...{ records: row.records, turns: row.turns, events: row.events, values: row.long_values },
      ...{ recordSum: row.record_sum, turnSum: row.turn_sum, lastSeq: row.last_seq },
      state: this.thread.state,
    };
    this.#written = this.#head;
  }

  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  get #isOver(): boolean {
    return this.#isReleased || this.#lost.signal.aborted;
  }

  async renew(): Promise<boolean> {
    if (this.#isOver) return false;
    try {
      await this.#queued();
      return true;
    } catch (error) {
      if (error instanceof FencedError) return false;
      throw error;
    }
  }

  async append(record: string, state: ThreadState): Promise<Appended> {
    const content = this.#sealed("data", record);
    this.#flushEvents();
    this.#lines.push({ log: logNumbers.data, n: this.#head.records, content });
    const recordSum = sumText(this.#sums.data);
    this.#head = { ...this.#head, records: this.#head.records + 1, recordSum, state: { ...state } };
    this.#isEnded = state.kind === "ended";
    return await this.#queued();
  }

  async journal(record: string): Promise<void> {
    const content = this.#sealed("journal", record);
    this.#lines.push({ log: logNumbers.journal, n: this.#head.turns, content });
    const turnSum = sumText(this.#sums.journal);
    this.#head = { ...this.#head, turns: this.#head.turns + 1, turnSum };
    await this.#queued();
  }

  /**
   * Returns the next record of a log with its checksum.
   * @throws FencedError; WorkflowError `THREAD_ENDED`, `RECORD_TOO_LARGE`
   */
  #sealed(log: "data" | "journal", record: string): string {
    const { threadId } = this.ref;
    if (this.#isOver) throw new FencedError(threadId);
    if (this.#isEnded) throw refusals.ended(threadId, "ended");
    const bytes = Buffer.byteLength(record);
    if (bytes > maxRecordBytes) throw recordTooLong(threadId, bytes, maxRecordBytes);
    const { text, sum } = sealed(record, this.#sums[log]);
    this.#sums[log] = sum;
    return text;
  }

  event(lines: readonly string[]): void {
    if (this.#isOver) return;
    this.#events.push(...lines);
    this.#timer ??= setTimeout(() => {
      this.#timer = null;
      this.#flushEvents();
      this.#parts.writer.add(this);
    }, eventsAfterMs);
  }

  #flushEvents(): void {
    let chunk: string[] = [];
    let chars = 0;
    const flush = (): void => {
      if (chunk.length === 0) return;
      const { events, lastSeq } = this.#head;
      this.#lines.push({ log: logNumbers.events, n: events, content: chunk.join("\n") });
      const seq = chunk.reduce((highest, line) => Math.max(highest, seqOf(line)), lastSeq);
      this.#head = { ...this.#head, events: events + 1, lastSeq: seq };
      chunk = [];
      chars = 0;
    };
    for (const line of this.#events.splice(0)) {
      if (chars + line.length > rowChars) flush();
      chunk.push(line);
      chars += line.length;
    }
    flush();
  }

  keepValue(json: string): number | null {
    if (this.#isOver) return null;
    const { values } = this.#head;
    const after = values + Buffer.byteLength(json) + 1;
    if (after - values > maxValueBytes || after > maxValuesBytes) return null;
    this.#lines.push({ log: logNumbers.values, n: values, content: json });
    this.#head = { ...this.#head, values: after };
    return values;
  }

  async putBlob(bytes: Uint8Array): Promise<string | null> {
    if (this.#isOver) throw new FencedError(this.ref.threadId);
    const id = blobIdOf(bytes);
    const { schema } = this.#parts.database;
    const own = Buffer.from(bytes.slice().buffer);
    const [held] = await this.#parts.database.query(
      `WITH held AS (
         SELECT t.thread_id FROM ${schema}.threads t
         WHERE t.thread_id = $1 AND t.fence = $2 AND ${isHeld("t")} FOR UPDATE
       ), kept AS (
         INSERT INTO ${schema}.blobs (thread_id, id, bytes) SELECT thread_id, $3, $4 FROM held
         ON CONFLICT DO NOTHING
       ) SELECT thread_id FROM held`,
      [this.ref.threadId, this.fence, id, own],
    );
    if (held) return id;
    this.lose();
    throw new FencedError(this.ref.threadId);
  }

  async release(): Promise<void> {
    if (this.#isOver) return;
    this.#flushEvents();
    const written = this.#queued().catch(() => undefined);
    this.#isReleased = true;
    this.#stop();
    await written;
    const { database } = this.#parts;
    await database
      .query(
        `UPDATE ${database.schema}.threads SET owner = NULL, lease_until = NULL, changed = pg_current_xact_id()
         WHERE thread_id = $1 AND fence = $2`,
        [this.ref.threadId, this.fence],
        promptMs,
      )
      // Without a release, the lease expires.
      .catch(() => undefined);
  }

  /** Ends the claim after its loss. */
  lose(): void {
    if (this.#isOver) return;
    this.#lost.abort();
    this.#stop();
    const fenced = new FencedError(this.ref.threadId);
    for (const { reject } of this.#pending.splice(0)) reject(fenced);
    this.#lines = [];
  }

  #stop(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#events = [];
    this.#parts.onOver(this);
  }

  #queued(): Promise<Appended> {
    const { promise, resolve, reject } = Promise.withResolvers<Appended>();
    this.#pending.push({ resolve, reject });
    this.#parts.writer.add(this);
    return promise;
  }

  take(): Batch | null {
    if (this.#lines.length === 0 && this.#pending.length === 0) return null;
    const { threadId } = this.ref;
    const batch = {
      ...{ threadId, fence: this.fence, leaseMs: this.#leaseMs },
      ...{ before: this.#written, after: this.#head, lines: this.#lines },
    };
    this.#sent = { head: this.#head, pending: this.#pending };
    this.#lines = [];
    this.#pending = [];
    return batch;
  }

  done(result: Result): void {
    const { head, pending } = this.#sent ?? { head: this.#written, pending: [] };
    this.#sent = null;
    if (!result.holds) return this.failed(new FencedError(this.ref.threadId), pending);
    this.#written = head;
    for (const { resolve } of pending) resolve({ paused: result.paused });
  }

  failed(error: unknown, pending = this.#sent?.pending ?? []): void {
    this.#sent = null;
    for (const { reject } of pending) reject(error);
    this.lose();
  }
}

/** Returns the `seq` of an event's line; 0 without a `seq`. */
export function seqOf(line: string): number {
  try {
    const { seq } = JSON.parse(line) as { seq?: unknown };
    return typeof seq === "number" ? seq : 0;
  } catch {
    return 0;
  }
}
