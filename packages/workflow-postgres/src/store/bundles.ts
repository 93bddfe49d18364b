import type { StoredBundle } from "@uncaged/workflow/store";
import type { Database } from "../database/database.ts";

/* The bundles of a schema. */

export async function putBundle(
  database: Database,
  { hash, code, descriptor, types, map }: StoredBundle,
): Promise<void> {
  await database.query(
    `INSERT INTO ${database.schema}.bundles AS b (hash, code, descriptor, types, map) VALUES ($1, $2, $3, $4, $5)
     ON CONFLICT (hash) DO UPDATE SET code = excluded.code, descriptor = excluded.descriptor,
       types = coalesce(excluded.types, b.types), map = coalesce(excluded.map, b.map)`,
    [hash, Buffer.from(code.slice().buffer), descriptor, types ?? null, map ?? null],
  );
}

export async function readBundle(database: Database, hash: string): Promise<StoredBundle | null> {
  type Row = { code: Buffer; descriptor: string; types: string | null; map: string | null };
  const [row] = await database.query<Row>(
    `SELECT code, descriptor, types, map FROM ${database.schema}.bundles WHERE hash = $1`,
    [hash],
  );
  if (!row) return null;
  const { code, descriptor, types, map } = row;
  return {
    ...{ hash, code: new Uint8Array(code), descriptor },
    ...(types !== null && { types }),
    ...(map !== null && { map }),
  };
}

export async function listBundles(database: Database): Promise<string[]> {
  const rows = await database.query<{ hash: string }>(
    `SELECT hash FROM ${database.schema}.bundles ORDER BY hash`,
  );
  return rows.map(({ hash }) => hash);
}

export async function removeBundle(database: Database, hash: string): Promise<void> {
  await database.query(`DELETE FROM ${database.schema}.bundles WHERE hash = $1`, [hash]);
}

/** Removes a bundle if no thread and no name uses it. Returns whether the bundle was removed. */
export async function removeUnused(database: Database, hash: string): Promise<boolean> {
  const { schema } = database;
  const rows = await database.within(async (query) => {
    // The locks prevent new threads and names of the bundle until the last statement has checked for them.
    await query(`SELECT FROM ${schema}.bundles WHERE hash = $1 FOR UPDATE`, [hash]);
    await query(`SELECT FROM ${schema}.registry FOR UPDATE`);
    return await query(
      `DELETE FROM ${schema}.bundles WHERE hash = $1
         AND NOT EXISTS (SELECT FROM ${schema}.threads WHERE hash = $1)
         AND NOT EXISTS (SELECT FROM ${schema}.registry WHERE position($1 IN content) > 0)
       RETURNING hash`,
      [hash],
    );
  });
  return rows.length > 0;
}
