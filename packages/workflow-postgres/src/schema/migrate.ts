import { codeOf, type Database } from "../database/database.ts";
import { encodingOther, readOnly, serverTooOld } from "../database/errors.ts";
import { schemaForeign, schemaNewer } from "./errors.ts";
import { migrations } from "./migrations.ts";
import { ensurePartitions } from "./partitions.ts";

/** The table with the numbers of the applied migrations. */
const table = "uncaged_migrations";
const duplicateTable = "42P07";
/** SQLSTATEs of a query for a column that is missing or has another type. */
const otherColumns = new Set(["42703", "42883"]);

type Found = {
  version: number;
  encoding: string;
  is_replica: boolean;
  migrated: boolean;
};

/**
 * Checks the server, and updates the schema to this program's version. Repeated and concurrent calls are safe: the
 * transaction takes a lock, and later calls find the schema migrated.
 * @throws WorkflowError `SCHEMA_NEWER`, `SCHEMA_FOREIGN`, `DATABASE_OLD`, `DATABASE_ENCODING`, `DATABASE_READ_ONLY`,
 * and the errors of `Database.query`
 */
export async function migrate(database: Database): Promise<void> {
  const { address, schema } = database;
  const [found] = await database.query<Found>(
    `SELECT current_setting('server_version_num')::int AS version,
       current_setting('server_encoding') AS encoding,
       pg_is_in_recovery() AS is_replica,
       to_regclass($1) IS NOT NULL AS migrated`,
    [`${schema}.${table}`],
  );
  if (!found) return;
  if (found.version < 140_000) {
    throw serverTooOld(address.place, `${Math.floor(found.version / 10_000)}`);
  }
  if (found.encoding !== "UTF8") throw encodingOther(address.place, found.encoding);
  if (found.migrated && (await versionOf(database)) === migrations.length) return;
  if (found.is_replica) throw readOnly(address.place);
  try {
    await database.transaction([
      { sql: "SELECT pg_advisory_xact_lock(hashtext($1))", values: [`uncaged ${address.schema}`] },
      // The user may own the schema without the right to create one.
      {
        sql: `DO $$ BEGIN
          IF to_regnamespace('${schema}') IS NULL THEN CREATE SCHEMA ${schema}; END IF;
        END $$`,
      },
      {
        sql: `CREATE TABLE IF NOT EXISTS ${schema}.${table} (
          version int PRIMARY KEY, at timestamptz NOT NULL DEFAULT now())`,
      },
      ...migrations.map((text, index) => ({ sql: guarded(database, text, index + 1) })),
    ]);
    // Threads may start before the first worker. Their rows must not go to the default partition, where they would
    // stay.
    if (!found.migrated) await ensurePartitions(database, "month", { count: 0 });
  } catch (error) {
    if (codeOf(error) !== duplicateTable) throw error;
    const { message } = (error as Error).cause as Error;
    throw schemaForeign(address.schema, /"(.*?)"/.exec(message)?.[1] ?? "of our name");
  }
}

/** Returns the version of a schema. @throws WorkflowError `SCHEMA_NEWER`, `SCHEMA_FOREIGN` */
async function versionOf(database: Database): Promise<number> {
  const { address, schema } = database;
  const rows = await database
    .query<{ version: number | null }>(
      `SELECT max(version) AS version FROM ${schema}.${table} WHERE version > 0`,
    )
    .catch((error: unknown) => {
      if (otherColumns.has(codeOf(error))) throw schemaForeign(address.schema, table);
      throw error;
    });
  const [row] = rows;
  const version = row?.version ?? 0;
  if (version > migrations.length) throw schemaNewer(address.schema, version, migrations.length);
  return version;
}

/** Returns a migration that does nothing if the schema already has it. The transaction holds the lock. */
function guarded({ schema }: Database, text: string, version: number): string {
  const body = text.replaceAll("$.", () => `${schema}.`);
  return `DO $migration$ BEGIN
    IF EXISTS (SELECT FROM ${schema}.${table} WHERE version >= ${version}) THEN RETURN; END IF;
    ${body}
    INSERT INTO ${schema}.${table} (version) VALUES (${version});
  END $migration$`;
}
