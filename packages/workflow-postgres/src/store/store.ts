import {
  ChangeQueue,
  type Claim,
  type ClaimOptions,
  isThreadId,
  type ListQuery,
  type LogName,
  type LogPage,
  movedError,
  type NewThread,
  refusals,
  type RegistryState,
  type RunnableOptions,
  type StoreChange,
  type StoredBundle,
  storeClosed,
  type ThreadIndex,
  type ThreadInfo,
  type ThreadRef,
  type ThreadStore,
} from "@uncaged/workflow/store";
import type { DatabaseAddress } from "../database/address.ts";
import { Database, type DatabaseOptions, isPassing, promptMs } from "../database/database.ts";
import { migrate } from "../schema/migrate.ts";
import { listBundles, putBundle, readBundle, removeBundle, removeUnused } from "./bundles.ts";
import { Changes, type Listener } from "./changes.ts";
import { maxRecordBytes, PostgresClaim } from "./claim.ts";
import { createThread } from "./create.ts";
import { placeOf, readLogs, readPage } from "./logs.ts";
import { columnsOf, infoOf, isHeld, logNumbers, type ThreadRow } from "./rows.ts";
import { Presence } from "./presence.ts";
import { threadIndex } from "./thread-index.ts";
import { Writer } from "./writer.ts";

/**
 * Opens the thread store in a schema of a PostgreSQL database, and creates or updates its tables.
 * @throws WorkflowError the errors of `migrate`
 */
export async function openPostgresStore(
  address: DatabaseAddress,
  options: DatabaseOptions = {},
): Promise<PostgresStore> {
  const database = new Database(address, options);
  try {
    await migrate(database);
    return new PostgresStore(database);
  } catch (error) {
    await database.close();
    throw error;
  }
}

/** A thread store in PostgreSQL. The clock of the server measures leases. */
export class PostgresStore implements ThreadStore {
  readonly maxRecordBytes = maxRecordBytes;
  readonly index: ThreadIndex;
  readonly #database: Database;
  readonly #schema: string;
  readonly #changes: Changes;
  readonly #writer: Writer;
  readonly #claims = new Map<string, PostgresClaim>();
  readonly #closed = new AbortController();
  #closing: Promise<void> | null = null;
  #presence: Presence | null = null;

  constructor(database: Database) {
    this.#database = database;
    this.#schema = database.schema;
    this.#changes = new Changes(database);
    this.index = threadIndex(this.#query.bind(this), this.#schema);
    this.#writer = new Writer(database, () => this.#changes.notify());
  }

  isPassing(error: unknown): boolean {
    return isPassing(error);
  }

  /** The connections of this store. `close` ends them. */
  get database(): Database {
    return this.#database;
  }

  #open(): Database {
    if (this.#closed.signal.aborted) throw storeClosed();
    return this.#database;
  }

  async #query<Row extends object>(
    sql: string,
    values: readonly unknown[] = [],
    timeoutMs?: number,
  ): Promise<Row[]> {
    return await this.#open().query<Row>(sql, values, timeoutMs);
  }

  async putBundle(bundle: StoredBundle): Promise<void> {
    await putBundle(this.#open(), bundle);
  }

  async readBundle(hash: string): Promise<StoredBundle | null> {
    return await readBundle(this.#open(), hash);
  }

  async listBundles(): Promise<string[]> {
    return await listBundles(this.#open());
  }

  async removeBundle(hash: string): Promise<void> {
    await removeBundle(this.#open(), hash);
  }

  async removeUnused(hash: string): Promise<boolean> {
    return await removeUnused(this.#open(), hash);
  }

  async readRegistry(): Promise<RegistryState> {
    const [row] = await this.#query<{ content: string; version: number }>(
      `SELECT content, version FROM ${this.#schema}.registry`,
    );
    return { text: row?.content ?? "", version: String(row?.version ?? 0) };
  }

  async replaceRegistry(text: string, expected: string): Promise<boolean> {
    const rows = await this.#query(
      `UPDATE ${this.#schema}.registry
       SET content = $1, version = version + 1, changed = pg_current_xact_id()
       WHERE version::text = $2 RETURNING version`,
      [text, expected],
    );
    if (rows.length > 0) this.#changes.notify();
    return rows.length > 0;
  }

  async create(given: NewThread, options?: ClaimOptions) {
    const query = this.#query.bind(this);
    for (;;) {
      const made = await createThread({ query, schema: this.#schema }, given, options);
      if (made) {
        this.#changes.notify();
        const { row, lacksBundle } = made;
        const claim = options ? await this.#claimed(row, options) : null;
        return { created: true, thread: infoOf(row), claim, ...(lacksBundle && { lacksBundle }) };
      }
      const thread = await this.find(given.threadId);
      if (thread?.movedTo) throw movedError(thread.threadId, thread.movedTo);
      // Retry if the thread was removed after the conflict.
      if (thread) return { created: false, thread, claim: null };
    }
  }

  async find(threadId: string): Promise<ThreadInfo | null> {
    if (!isThreadId(threadId)) return null;
    const [row] = await this.#rows("t.thread_id = $1", [threadId], promptMs);
    return row ? infoOf(row) : null;
  }

  async list({ before, limit = 20, hash }: ListQuery = {}): Promise<ThreadInfo[]> {
    const rows = await this.#rows(
      `($1::text IS NULL OR t.thread_id < $1) AND ($2::text IS NULL OR t.hash = $2)
       ORDER BY t.thread_id DESC LIMIT $3`,
      [before ?? null, hash ?? null, limit],
    );
    return rows.map(infoOf);
  }

  #rows(where: string, values: readonly unknown[], timeoutMs?: number): Promise<ThreadRow[]> {
    const sql = `SELECT ${columnsOf("t")} FROM ${this.#schema}.threads t WHERE ${where}`;
    return this.#query<ThreadRow>(sql, values, timeoutMs);
  }

  async remove({ hash, threadId }: ThreadRef): Promise<boolean> {
    const schema = this.#schema;
    const values = [threadId, hash];
    const own = "thread_id = $1 AND hash = $2";
    const rows = await this.#open().within(async (query) => {
      // The lock prevents a holder from adding lines before the next statement deletes all lines.
      await query(`SELECT FROM ${schema}.threads WHERE ${own} FOR UPDATE`, values);
      return await query(
        `WITH gone AS (
           DELETE FROM ${schema}.threads WHERE ${own} RETURNING thread_id, hash, location
         ), lines AS (
           DELETE FROM ${schema}.lines WHERE thread_id = $1 AND EXISTS (SELECT FROM gone)
         ), blobs AS (
           DELETE FROM ${schema}.blobs WHERE thread_id = $1 AND EXISTS (SELECT FROM gone)
         ), noted AS (
           INSERT INTO ${schema}.removals (thread_id, hash, location) SELECT thread_id, hash, location FROM gone
         )
         SELECT thread_id FROM gone`,
        values,
      );
    });
    if (rows.length > 0) this.#changes.notify();
    return rows.length > 0;
  }

  async setPaused({ hash, threadId }: ThreadRef, paused: boolean): Promise<ThreadInfo | null> {
    const rows = await this.#query(
      `UPDATE ${this.#schema}.threads SET paused = $3, changed = pg_current_xact_id()
       WHERE thread_id = $1 AND hash = $2 AND state <> 'ended' AND paused <> $3 RETURNING thread_id`,
      [threadId, hash, paused],
    );
    if (rows.length > 0) this.#changes.notify();
    const thread = await this.find(threadId);
    return thread?.hash === hash ? thread : null;
  }

  async read(ref: ThreadRef, log: LogName, cursor?: string): Promise<LogPage> {
    return await readPage(this.#open(), ref, log, cursor);
  }

  where(ref: ThreadRef, log: LogName): string {
    return placeOf(this.#database, ref, log);
  }

  async readValue({ hash, threadId }: ThreadRef, at: number): Promise<string | null> {
    if (!Number.isSafeInteger(at) || at < 0 || at > 2 ** 31 - 1) return null;
    const [row] = await this.#query<{ content: string }>(
      `SELECT l.content FROM ${this.#schema}.lines l JOIN ${this.#schema}.threads t USING (thread_id)
       WHERE l.thread_id = $1 AND t.thread_id = $1 AND t.hash = $2 AND l.log = ${logNumbers.values} AND l.n = $3`,
      [threadId, hash, at],
    );
    return row?.content ?? null;
  }

  async readBlob({ hash, threadId }: ThreadRef, id: string): Promise<Uint8Array | null> {
    const [row] = await this.#query<{ bytes: Buffer }>(
      `SELECT b.bytes FROM ${this.#schema}.blobs b JOIN ${this.#schema}.threads t USING (thread_id)
       WHERE b.thread_id = $1 AND t.thread_id = $1 AND t.hash = $2 AND b.id = $3`,
      [threadId, hash, id],
    );
    return row ? new Uint8Array(row.bytes) : null;
  }

  async listBlobs({ hash, threadId }: ThreadRef): Promise<string[]> {
    const rows = await this.#query<{ id: string }>(
      `SELECT b.id FROM ${this.#schema}.blobs b JOIN ${this.#schema}.threads t USING (thread_id)
       WHERE b.thread_id = $1 AND t.thread_id = $1 AND t.hash = $2 ORDER BY b.id`,
      [threadId, hash],
    );
    return rows.map(({ id }) => id);
  }

  async claim(ref: ThreadRef, options: ClaimOptions): Promise<Claim | null> {
    const { owner, leaseMs, takeOver = false } = options;
    const [row] = await this.#query<ThreadRow>(
      `UPDATE ${this.#schema}.threads t SET fence = nextval('${this.#schema}.fences'), owner = $3,
         lease_until = clock_timestamp() + $4 * interval '1 ms', changed = pg_current_xact_id()
       WHERE t.thread_id = $1 AND t.hash = $2 AND t.moved_to IS NULL AND ($5 OR NOT ${isHeld("t")})
       RETURNING ${columnsOf("t")}`,
      [ref.threadId, ref.hash, owner, leaseMs, takeOver],
      promptMs,
    );
    if (row) {
      this.#changes.notify();
      return await this.#claimed(row, options);
    }
    const thread = await this.find(ref.threadId);
    if (thread?.hash !== ref.hash) throw refusals.notFound(ref.threadId);
    if (thread.movedTo !== null) throw movedError(ref.threadId, thread.movedTo);
    return null;
  }

  /** Opens the claim of a row that this store has just claimed. */
  async #claimed(row: ThreadRow, options: ClaimOptions): Promise<PostgresClaim> {
    this.#claims.get(row.thread_id)?.lose();
    try {
      const logs = await readLogs(this.#database, row);
      const parts = {
        database: this.#database,
        writer: this.#writer,
        onOver: (over: PostgresClaim) => {
          if (this.#claims.get(row.thread_id) === over) this.#claims.delete(row.thread_id);
        },
      };
      const claim = new PostgresClaim(parts, row, logs, options);
      this.#claims.set(row.thread_id, claim);
      return claim;
    } catch (error) {
      await this.#database
        .query(
          `UPDATE ${this.#schema}.threads SET owner = NULL, lease_until = NULL WHERE thread_id = $1 AND fence = $2`,
          [row.thread_id, row.fence],
        )
        .catch(() => undefined);
      throw error;
    }
  }

  async runnable({ now, limit, hashes, onlyDue = false }: RunnableOptions): Promise<ThreadInfo[]> {
    const free = `NOT t.paused AND t.moved_to IS NULL AND t.postponed_until <= $1
      AND NOT ${isHeld("t")} AND ($2::text[] IS NULL OR t.hash = ANY($2))`;
    const threads = `SELECT ${columnsOf("t")}, t.%s AS since FROM ${this.#schema}.threads t`;
    const rows = await this.#query<ThreadRow>(
      `SELECT * FROM (
         (${threads.replace("%s", "due_at")} WHERE t.state = 'waiting' AND t.due_at <= $1 AND ${free}
          ORDER BY t.due_at LIMIT $3)
         UNION ALL
         (${threads.replace("%s", "updated_at")} WHERE t.state = 'running' AND NOT $4 AND ${free}
          ORDER BY t.updated_at LIMIT $3)
       ) AS found ORDER BY since LIMIT $3`,
      [now, hashes ?? null, limit, onlyDue],
      promptMs,
    );
    return rows.map(infoOf);
  }

  async renewAll(claims: readonly Claim[]): Promise<boolean[]> {
    // The writer renews all claims in one statement.
    return await Promise.all(claims.map((claim) => claim.renew()));
  }

  async postpone({ hash, threadId }: ThreadRef, until: number): Promise<void> {
    const isRunnable = until <= Date.now();
    await this.#query(
      `UPDATE ${this.#schema}.threads SET postponed_until = $3,
         changed = CASE WHEN $4 THEN pg_current_xact_id() ELSE changed END
       WHERE thread_id = $1 AND hash = $2`,
      [threadId, hash, until, isRunnable],
      promptMs,
    );
    if (isRunnable) this.#changes.notify();
  }

  /**
   * Sends heartbeats for this owner's claims until `close`, and frees the threads of dead owners. Needs an open watch
   * of the store.
   */
  attend(owner: string): void {
    this.#presence ??= new Presence(this.#database, owner, {
      mayJudge: () => this.#changes.isHeard,
      onFreed: () => this.#changes.notify(),
    });
  }

  async *watch(signal: AbortSignal, ref?: ThreadRef): AsyncGenerator<StoreChange> {
    if (this.#closed.signal.aborted) throw storeClosed();
    const ended = AbortSignal.any([signal, this.#closed.signal]);
    if (ended.aborted) return;
    const queue = new ChangeQueue();
    const first = Promise.withResolvers<void>();
    const listener: Listener = {
      onChange: ({ fence, ...change }) => {
        const threadId = "ref" in change ? change.ref.threadId : "";
        const claim = this.#claims.get(threadId);
        if (claim && fence !== claim.fence && (fence ?? claim.fence + 1) > claim.fence)
          claim.lose();
        if (!ref || ref.threadId === threadId) queue.add(change);
      },
      onError: first.reject,
    };
    const stop = (): void => first.resolve();
    ended.addEventListener("abort", stop);
    try {
      await Promise.race([this.#changes.add(listener), first.promise]);
      if (!ended.aborted) yield { kind: "ready" };
      yield* queue.until(ended);
    } finally {
      this.#changes.remove(listener);
      ended.removeEventListener("abort", stop);
    }
  }

  close(): Promise<void> {
    return (this.#closing ??= this.#close());
  }

  async #close(): Promise<void> {
    this.#closed.abort();
    await Promise.all([...this.#claims.values()].map((claim) => claim.release()));
    await this.#writer.settled();
    await this.#presence?.close();
    await this.#database.close();
  }
}
