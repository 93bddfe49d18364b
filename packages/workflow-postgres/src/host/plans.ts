import type { DatabaseAddress } from "../database/address.ts";
import { Database, isPassing } from "../database/database.ts";
import { migrate } from "../schema/migrate.ts";

/** Rows that changed after a version; null for a deleted row. With `isAll`, `rows` has every row. */
export type RowsSince = { version: number; isAll: boolean; rows: Map<string, unknown> };

/** Rows of the plans of a database, and locks for plan services. */
export type PlanRows = {
  /** Returns the rows that changed after a version. */
  since(version: number): Promise<RowsSince>;
  /**
   * Sets rows; deletes a row whose value is null. Returns false without a change if `after` is not the current version.
   */
  commit(after: number, rows: Record<string, unknown>): Promise<boolean>;
  /** Acquires a lock; calls `onWait` before each retry. The lock of a dead process expires within seconds. */
  lock(name: string, onWait: () => void): Promise<{ release(): Promise<void> }>;
  /** Closes the connections. */
  close(): Promise<void>;
};

/** Duration of a lock's lease, interval of its renewal, and pause between attempts to acquire it, in milliseconds. */
const leaseMs = 10_000;
const renewMs = 3_000;
const waitMs = 50;
/** Number of stored commits, with the deleted rows. A reader with an older version reads all rows. */
const keptCommits = 1_000;
/**
 * Time limit for the retries of a commit while the database can't be reached, in milliseconds. After that time the
 * outcome is unknown.
 */
const longestMs = 30_000;
const retryMs = 200;
/** Number of connections: one for sequential calls, the others for locks. */
const pool = 3;

/**
 * Opens the plan rows of a schema, and creates or updates its tables.
 * @throws WorkflowError the errors of `migrate`
 */
export async function openPlanRows(address: DatabaseAddress): Promise<PlanRows> {
  const database = new Database(address, { pool });
  try {
    await migrate(database);
    return planRows(database);
  } catch (error) {
    await database.close();
    throw error;
  }
}

/** Returns the plan rows of a migrated schema. */
export function planRows(database: Database): PlanRows {
  const { schema } = database;
  const sql = statements(schema);

  async function lease(name: string, holder: string): Promise<boolean> {
    return (await database.query(sql.lease, [name, holder, leaseMs])).length > 0;
  }

  return {
    async since(before) {
      type Row = { version: number; key: string | null; content: string | null };
      const found = await database.query<Row>(sql.since, [before]);
      const version = found[0]?.version ?? 0;
      const isAll = isWhole(before, version);
      const rows = found.flatMap(({ key, content }) =>
        key === null || (isAll && content === null)
          ? []
          : [[key, content === null ? null : (JSON.parse(content) as unknown)] as const],
      );
      return { version, isAll, rows: new Map(rows) };
    },

    async commit(after, rows) {
      const id = crypto.randomUUID();
      const contents = Object.values(rows).map((row) =>
        row === null ? null : JSON.stringify(row),
      );
      const given = [after, id, Object.keys(rows), contents];
      for (const late = Date.now() + longestMs; ; await Bun.sleep(retryMs)) {
        try {
          if ((await database.query(sql.commit, given)).length > 0) return true;
          // A commit that is repeated after a lost reply finds its own id.
          const [next] = await database.query<{ id: string }>(sql.committed, [after]);
          return next?.id === id;
        } catch (error) {
          if (!isPassing(error) || Date.now() > late) throw error;
        }
      }
    },

    async lock(name, onWait) {
      const holder = crypto.randomUUID();
      while (!(await lease(name, holder))) {
        onWait();
        await Bun.sleep(waitMs * (1 + Math.random()));
      }
      // After a failed renewal another process may hold the lock. Commits compare versions, so they stay safe.
      let renewed: Promise<unknown> = Promise.resolve();
      const renewing = setInterval(() => {
        renewed = lease(name, holder).catch(() => undefined);
      }, renewMs);
      return {
        async release() {
          clearInterval(renewing);
          await renewed;
          // Without a release the lease expires.
          await database.query(sql.release, [name, holder]).catch(() => undefined);
        },
      };
    },

    close: () => database.close(),
  };
}

/** Tells whether a reader gets all rows, because the reader is new or may have missed deleted rows. */
const isWhole = (before: number, version: number): boolean =>
  before === 0 || before < version - keptCommits || before > version;

const statements = (schema: string) => ({
  since: `
    WITH head AS (SELECT coalesce(max(version), 0) AS version FROM ${schema}.plan_commits)
    SELECT head.version, r.key, r.content FROM head LEFT JOIN ${schema}.plan_rows r
      ON r.version > $1 OR $1 = 0 OR $1 < head.version - ${keptCommits} OR $1 > head.version`,

  // If two commits follow the same version, the primary key prevents the second insert.
  commit: `
    WITH made AS (
      INSERT INTO ${schema}.plan_commits (version, id)
      SELECT $1::bigint + 1, $2 WHERE $1 = (SELECT coalesce(max(version), 0) FROM ${schema}.plan_commits)
      ON CONFLICT (version) DO NOTHING RETURNING version, id
    ), written AS (
      INSERT INTO ${schema}.plan_rows (key, content, version)
      SELECT g.key, g.content, made.version FROM made, unnest($3::text[], $4::text[]) AS g (key, content)
      ON CONFLICT (key) DO UPDATE SET content = excluded.content, version = excluded.version
    ), pruned AS (
      DELETE FROM ${schema}.plan_commits c USING made WHERE c.version <= made.version - ${keptCommits}
    ), swept AS (
      DELETE FROM ${schema}.plan_rows r USING made
      WHERE r.content IS NULL AND r.version <= made.version - ${keptCommits} AND r.key <> ALL ($3)
    )
    SELECT version FROM made`,

  committed: `SELECT id FROM ${schema}.plan_commits WHERE version = $1 + 1`,

  lease: `
    INSERT INTO ${schema}.plan_locks AS l (name, holder, held_until)
    VALUES ($1, $2, clock_timestamp() + $3 * interval '1 ms')
    ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, held_until = excluded.held_until
    WHERE l.holder = excluded.holder OR l.held_until <= clock_timestamp()
    RETURNING name`,

  release: `DELETE FROM ${schema}.plan_locks WHERE name = $1 AND holder = $2`,
});
