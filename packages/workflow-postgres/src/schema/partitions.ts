import { toBase32 } from "@uncaged/workflow/store";
import { codeOf, type Database } from "../database/database.ts";

/** The period of a partition: a month, or a day if many threads start. */
export type Partition = "day" | "month";

/** Number of periods for which partitions are created in advance, so that the default partition stays empty. */
const ahead = 3;
/** Threads deleted per statement. */
const chunk = 5_000;
const tables = ["lines", "blobs"] as const;
/** Limits the wait for the lock of a table, because all later statements on the table wait too. */
const timeout = { sql: "SET LOCAL lock_timeout = '2s'" };
/**
 * Tells whether a partition can't be created: the default partition has rows of its period, another partition overlaps
 * it, or a long transaction uses the table.
 */
const isTaken = (error: unknown): boolean => /^(23514|42P17|42P07|55P03)$/.test(codeOf(error));

/**
 * Creates the partition of the current period, and the next `count` partitions, unless they exist. Repeated and
 * concurrent calls are safe.
 */
export async function ensurePartitions(
  database: Database,
  partition: Partition,
  { now = Date.now(), count = ahead } = {},
): Promise<void> {
  const { schema } = database;
  for (let n = 0; n <= count; n += 1) {
    const from = startOf(now, partition, n);
    const suffix = new Date(from).toISOString().slice(0, partition === "day" ? 10 : 7);
    const range = [from, startOf(now, partition, n + 1)].map((time) => `'${boundOf(time)}'`);
    const created = tables.map((table) => ({
      sql: `CREATE TABLE IF NOT EXISTS ${schema}.${table}_${suffix.replaceAll("-", "_")}
        PARTITION OF ${schema}.${table} FOR VALUES FROM (${range[0]}) TO (${range[1]})`,
    }));
    try {
      await database.transaction([timeout, ...created]);
    } catch (error) {
      if (!isTaken(error)) throw error;
    }
  }
}

/**
 * Deletes the threads that ended before a time, and drops the partitions without threads. Does not notify watches.
 * Returns the number of deleted threads.
 */
export async function deleteEnded(database: Database, before: number): Promise<number> {
  const { schema } = database;
  let deleted = 0;
  for (let last = chunk; last === chunk; deleted += last) {
    const rows = await database.query(
      `DELETE FROM ${schema}.threads WHERE thread_id IN (
         SELECT thread_id FROM ${schema}.threads
         WHERE state = 'ended' AND updated_at < $1 AND thread_id < $2 AND owner IS NULL
         ORDER BY thread_id LIMIT ${chunk}
       ) RETURNING thread_id`,
      [before, boundOf(before)],
    );
    last = rows.length;
  }
  for (const table of tables) await dropEmpty(database, table, boundOf(before));
  return deleted;
}

/** Drops the partitions below a bound that have no thread, and deletes the rows of deleted threads in the others. */
async function dropEmpty(database: Database, table: string, bound: string): Promise<void> {
  const { schema } = database;
  type Found = { name: string; range: string };
  const partitions = await database.query<Found>(
    `SELECT c.relname AS name, pg_get_expr(c.relpartbound, c.oid) AS range
     FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = $1::regclass`,
    [`${schema}.${table}`],
  );
  for (const { name, range } of partitions) {
    const [, from, to] = /FROM \('(\w+)'\) TO \('(\w+)'\)/.exec(range) ?? [];
    const isDefault = range === "DEFAULT";
    if (!isDefault && (from === undefined || to === undefined || to > bound)) continue;
    const removed = `DELETE FROM ${schema}."${name}" p WHERE p.thread_id < '${bound}'
      AND NOT EXISTS (SELECT FROM ${schema}.threads t WHERE t.thread_id = p.thread_id)`;
    const within = `thread_id >= '${from}' AND thread_id < '${to}'`;
    const sql = isDefault
      ? removed
      : `DO $$ BEGIN
          IF EXISTS (SELECT FROM ${schema}.threads WHERE ${within}) THEN ${removed};
          ELSE DROP TABLE ${schema}."${name}"; END IF;
        END $$`;
    // The lock prevents a new thread of this period between the check and the drop.
    const lock = { sql: `LOCK TABLE ${schema}."${name}" IN ACCESS EXCLUSIVE MODE` };
    try {
      await database.transaction(isDefault ? [{ sql }] : [timeout, lock, { sql }]);
    } catch (error) {
      if (!isTaken(error)) throw error;
    }
  }
}

/** Returns the start of the period that is `n` periods after the period of `time`. */
function startOf(time: number, partition: Partition, n: number): number {
  const date = new Date(time);
  const [year, month, day] = [date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate()];
  return partition === "day" ? Date.UTC(year, month, day + n) : Date.UTC(year, month + n);
}

/**
 * Returns the lowest thread id of a time: ids are ULIDs, whose first ten characters encode the time in milliseconds.
 */
const boundOf = (time: number): string => toBase32(time, 10) + "0".repeat(16);
