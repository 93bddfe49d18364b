import type { ThreadState } from "@uncaged/workflow/store";
import { type Database, isPassing, promptMs } from "../database/database.ts";
import { isHeld, serverNow } from "./rows.ts";

/** The heads of a thread's logs: numbers of lines, and checksums of the last records. */
export type Head = {
  records: number;
  turns: number;
  events: number;
  values: number;
  recordSum: string;
  turnSum: string;
  lastSeq: number;
  state: ThreadState;
};

/** A line for the table `lines`. */
export type Line = { log: number; n: number; content: string };

/** The lines that one claim writes at once. Without lines, a batch only renews the lease. */
export type Batch = {
  threadId: string;
  fence: number;
  leaseMs: number;
  before: Head;
  after: Head;
  lines: readonly Line[];
};

/** The outcome of a batch: the claim is valid, with the thread's pause mark, or the claim is lost. */
export type Result = { holds: true; paused: boolean } | { holds: false };

/** A claim with pending lines or a pending renewal. */
export type Source = {
  /** Removes the pending lines and returns them as a batch; null if none are pending. */
  take(): Batch | null;
  /** Called when the batch is durable, or the claim is lost. */
  done(result: Result): void;
  /** Called when the outcome of the batch is unknown. */
  failed(error: unknown): void;
};

/** Characters after which a statement takes no further batch. */
const mostChars = 8 * 1024 * 1024;
/** Minimum speed of a connection that the timeout of a statement assumes, in characters per millisecond. */
const slowest = 500;
/** Time limit for retries of a statement after a lost connection or a failure of the server, in milliseconds. */
const triesForMs = 20_000;
const firstPauseMs = 50;
const longestPauseMs = 1_000;

/**
 * Writes the pending lines of all claims of a store, one statement at a time. Each statement is one round trip and one
 * transaction, and checks the fence of each thread.
 */
export class Writer {
  readonly #database: Database;
  readonly #sql: string;
  readonly #onWritten: () => void;
  readonly #waiting = new Set<Source>();
  #isWriting = false;
  #idle = Promise.withResolvers<void>();

  constructor(database: Database, onWritten: () => void) {
    this.#database = database;
    this.#sql = statement(database.schema);
    this.#onWritten = onWritten;
    this.#idle.resolve();
  }

  /** Schedules a write of a source's pending lines. */
  add(source: Source): void {
    this.#waiting.add(source);
    if (this.#isWriting) return;
    this.#isWriting = true;
    this.#idle = Promise.withResolvers();
    void this.#write();
  }

  /** Resolves when nothing is left to write. */
  settled(): Promise<void> {
    return this.#idle.promise;
  }

  async #write(): Promise<void> {
    // Calls in the same turn of the event loop go into one statement.
    await Promise.resolve();
    while (this.#waiting.size > 0) {
      const batches: [Source, Batch][] = [];
      let chars = 0;
      for (const source of this.#waiting) {
        if (chars > mostChars) break;
        this.#waiting.delete(source);
        const batch = source.take();
        if (!batch) continue;
        batches.push([source, batch]);
        for (const { content } of batch.lines) chars += content.length;
      }
      if (batches.length > 0) await this.#send(batches);
    }
    this.#isWriting = false;
    this.#idle.resolve();
  }

  async #send(batches: readonly [Source, Batch][]): Promise<void> {
    try {
      const results = await this.#results(batches.map(([, batch]) => batch));
      if (batches.some(([, { lines }]) => lines.length > 0)) this.#onWritten();
      for (const [source, { fence }] of batches) {
        source.done(results.get(fence) ?? { holds: false });
      }
    } catch (error) {
      // The server rejected one of the batches. Write them separately, so that the other claims do not fail with it.
      if (batches.length > 1 && !isPassing(error)) {
        for (const batch of batches) await this.#send([batch]);
      } else for (const [source] of batches) source.failed(error);
    }
  }

  /** Sends batches until their outcomes are known. Returns the outcomes by the fences of the claims. */
  async #results(batches: readonly Batch[]): Promise<Map<number, Result>> {
    const until = Date.now() + triesForMs;
    let isRepeated = false;
    for (let pause = firstPauseMs; ; pause = Math.min(pause * 2, longestPauseMs)) {
      try {
        const results = await this.#once(batches);
        const open = batches.filter(({ fence }) => !results.has(fence));
        if (!isRepeated || open.length === 0) return results;
        // An earlier attempt may have been committed although its reply was lost.
        for (const { fence, paused } of await this.#written(open)) {
          results.set(fence, { holds: true, paused });
        }
        return results;
      } catch (error) {
        if (!isPassing(error) || Date.now() > until) throw error;
        isRepeated = true;
      }
      await Bun.sleep(pause);
    }
  }

  async #once(batches: readonly Batch[]): Promise<Map<number, Result>> {
    const lines = batches.flatMap(({ fence, lines: own }) =>
      own.map((line) => ({ fence, ...line })),
    );
    const chars = lines.reduce((sum, { content }) => sum + content.length, 0);
    const values = [
      batches.map(({ threadId }) => threadId),
      batches.map(({ fence }) => fence),
      batches.map(({ leaseMs }) => leaseMs),
      batches.map(({ before }) => before.records),
      batches.map(({ before }) => before.turns),
      batches.map(({ before }) => before.events),
      batches.map(({ after }) => after.records),
      batches.map(({ after }) => after.turns),
      batches.map(({ after }) => after.events),
      batches.map(({ after }) => after.values),
      batches.map(({ after }) => after.recordSum),
      batches.map(({ after }) => after.turnSum),
      batches.map(({ after }) => after.lastSeq),
      batches.map(({ after }) => after.state.kind),
      batches.map(({ after: { state } }) => (state.kind === "waiting" ? state.dueAt : null)),
      lines.map(({ fence }) => fence),
      lines.map(({ log }) => log),
      lines.map(({ n }) => n),
      lines.map(({ content }) => content),
    ];
    type Written = { fence: number; paused: boolean };
    const timeoutMs = promptMs + chars / slowest;
    const rows = await this.#database.query<Written>(this.#sql, values, timeoutMs);
    return new Map(rows.map(({ fence, paused }) => [fence, { holds: true, paused }]));
  }

  /**
   * Returns the fence and the pause mark of each batch that was written: the head of its thread is the head after the
   * batch. The checksums of new records prove this even after the claim has ended.
   */
  async #written(batches: readonly Batch[]): Promise<{ fence: number; paused: boolean }[]> {
    type Found = Record<"thread_id" | "record_sum" | "turn_sum", string> &
      Record<"fence" | "records" | "turns" | "events", number> &
      Record<"paused" | "held", boolean>;
    const rows = await this.#database.query<Found>(
      `SELECT t.thread_id, t.record_sum, t.turn_sum, t.fence, t.records, t.turns, t.events, t.paused,
         ${isHeld("t")} AS held
       FROM ${this.#database.schema}.threads t WHERE t.thread_id = ANY($1)`,
      [batches.map(({ threadId }) => threadId)],
      promptMs,
    );
    return batches.flatMap(({ threadId, fence, before, after }) => {
      const isNew = after.records > before.records || after.turns > before.turns;
      const row = rows.find(({ thread_id }) => thread_id === threadId);
      const isSame =
        row !== undefined &&
        (isNew || (row.fence === fence && row.held)) &&
        row.records === after.records &&
        row.turns === after.turns &&
        row.events === after.events &&
        row.record_sum === after.recordSum &&
        row.turn_sum === after.turnSum;
      return isSame ? [{ fence, paused: row.paused }] : [];
    });
  }
}

/**
 * Returns the statement that writes batches. A batch is written only if its claim has the thread's fence, the lease
 * has not ended, and the log has exactly the lines that the claim expects. So a statement that is sent twice writes once.
 * The fence, which is unique in a schema, identifies lines and results, because one statement may contain two claims of
 * one thread.
 */
const statement = (schema: string): string => `
  WITH given AS (
    SELECT * FROM unnest($1::text[], $2::bigint[], $3::int[], $4::int[], $5::int[], $6::int[], $7::int[], $8::int[],
      $9::int[], $10::int[], $11::text[], $12::text[], $13::bigint[], $14::text[], $15::bigint[])
    AS given (thread_id, fence, lease_ms, records_before, turns_before, events_before, records, turns, events,
      long_values, record_sum, turn_sum, last_seq, state, due_at)
  ), held AS (
    UPDATE ${schema}.threads t SET
      records = g.records, turns = g.turns, events = g.events, long_values = g.long_values,
      record_sum = g.record_sum, turn_sum = g.turn_sum, last_seq = g.last_seq,
      state = g.state, due_at = g.due_at,
      updated_at = CASE WHEN g.records = t.records THEN t.updated_at ELSE ${serverNow} END,
      postponed_until = CASE WHEN g.records = t.records THEN t.postponed_until ELSE 0 END,
      lease_until = clock_timestamp() + g.lease_ms * interval '1 ms',
      changed = CASE WHEN g.records = t.records AND g.turns = t.turns AND g.events = t.events
        THEN t.changed ELSE pg_current_xact_id() END
    FROM given g
    WHERE t.thread_id = g.thread_id AND t.fence = g.fence AND ${isHeld("t")}
      AND t.records = g.records_before AND t.turns = g.turns_before AND t.events = g.events_before
    RETURNING t.thread_id, t.fence, t.paused
  ), written AS (
    INSERT INTO ${schema}.lines (thread_id, log, n, content)
    SELECT held.thread_id, l.log, l.n, l.content
    FROM unnest($16::bigint[], $17::smallint[], $18::int[], $19::text[]) AS l (fence, log, n, content)
    JOIN held USING (fence)
  )
  SELECT fence, paused FROM held`;
