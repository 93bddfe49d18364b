import type { Database } from "../database/database.ts";

const beatMs = 500;
/** Silence after which a worker without a connection counts as dead, in milliseconds. */
const silentMs = 1_200;
/**
 * Time after its own connection during which a worker declares no other worker dead, in milliseconds. After a restart
 * or a failover of the server all connections are new, and every worker needs time to reconnect.
 */
const graceMs = 10_000;

/**
 * Shows that a worker is alive, by a connection and by heartbeats, and frees the threads of dead workers. A killed
 * process loses its connection at once, so other workers need not wait for the end of its leases. A frozen process
 * keeps its connection, and its threads until their leases expire.
 */
export class Presence {
  readonly #database: Database;
  readonly #name: string;
  readonly #mayJudge: () => boolean;
  readonly #onFreed: () => void;
  readonly #stop = new AbortController();
  readonly #ended: Promise<void>;

  /**
   * @param name The owner name in the worker's claims.
   * @param mayJudge Whether connections go directly to the server. Behind a pooler, a connection shows nothing about a
   * process.
   * @param onFreed Called when threads of a dead worker can be claimed.
   */
  constructor(
    database: Database,
    name: string,
    { mayJudge, onFreed }: { mayJudge: () => boolean; onFreed: () => void },
  ) {
    this.#database = database;
    this.#name = name;
    this.#mayJudge = mayJudge;
    this.#onFreed = onFreed;
    this.#ended = this.#attend();
  }

  async #attend(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      const client = this.#database.client();
      client.on("error", () => undefined);
      try {
        await client.connect();
        while (!signal.aborted) {
          if (this.#mayJudge()) {
            const { schema } = this.#database;
            await client.query(beat(schema), [this.#name]);
            const { rowCount } = await client.query(free(schema), [this.#name]);
            if (rowCount) this.#onFreed();
          }
          await Bun.sleep(beatMs);
        }
        await client.query(`DELETE FROM ${this.#database.schema}.workers WHERE name = $1`, [
          this.#name,
        ]);
      } catch {
        // Without heartbeats, only leases protect the threads of this worker.
        if (!signal.aborted) await Bun.sleep(beatMs);
      } finally {
        await client.end().catch(() => undefined);
      }
    }
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#ended;
  }
}

const beat = (schema: string): string => `
  INSERT INTO ${schema}.workers (name, backend, backend_start, seen_at)
  SELECT $1, a.pid, a.backend_start, clock_timestamp() FROM pg_stat_activity a WHERE a.pid = pg_backend_pid()
  ON CONFLICT (name) DO UPDATE
  SET backend = excluded.backend, backend_start = excluded.backend_start, seen_at = excluded.seen_at`;

/** Returns the statement that ends the leases of dead workers and deletes their rows. */
const free = (schema: string): string => `
  WITH dead AS (
    DELETE FROM ${schema}.workers w USING ${schema}.workers own
    WHERE own.name = $1 AND w.name <> $1
      AND own.backend_start < clock_timestamp() - interval '${graceMs} ms'
      AND w.seen_at < clock_timestamp() - interval '${silentMs} ms'
      AND NOT EXISTS (
        SELECT FROM pg_stat_activity a
        -- The start of a connection is hidden from other users of the database.
        WHERE a.pid = w.backend AND coalesce(a.backend_start = w.backend_start, true)
      )
    RETURNING w.name
  )
  UPDATE ${schema}.threads t SET owner = NULL, lease_until = NULL, changed = pg_current_xact_id()
  FROM dead WHERE t.owner = dead.name RETURNING t.thread_id`;
