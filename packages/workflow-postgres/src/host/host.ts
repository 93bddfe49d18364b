import type { Host } from "@uncaged/workflow/host";
import type { MovingHost } from "@uncaged/workflow/internal";
import { openStoreHost } from "@uncaged/workflow/store";
import { readDatabaseUrl, shownUrl } from "../database/address.ts";
import { openPostgresStore } from "../store/store.ts";
import { movingDatabase } from "./move.ts";

/** Options of {@link openPostgresHost}. */
export type PostgresHostOptions = {
  /** `postgres://user@host:5432/database?schema=name`, with the driver's parameters such as `sslmode`. */
  url: string;
  /** The schema with all tables, unless the URL contains a schema; `uncaged` by default. */
  schema?: string;
  /** Maximum number of connections, besides the listening connection; 10 by default. */
  pool?: number;
};

/** A host on PostgreSQL. */
export type PostgresHost = Host & {
  /** Moves threads out of the database and into the database. */
  moving: MovingHost;
};

/**
 * Opens a PostgreSQL database as a host, and creates or updates its tables. Workers drive the threads
 * ({@link servePostgresWorker}); reads need no worker.
 *
 * @example const host = await openPostgresHost({ url: "postgres://app@127.0.0.1/app" });
 * @throws WorkflowError `BAD_HOST`, and the errors of `database/errors.ts` and `schema/errors.ts`
 */
export async function openPostgresHost({
  url,
  schema,
  pool,
}: PostgresHostOptions): Promise<PostgresHost> {
  const address = readDatabaseUrl(url, schema);
  const store = await openPostgresStore(address, { ...(pool !== undefined && { pool }) });
  const host = openStoreHost(store, { root: shownUrl(address), drives: false });
  const { moving, removeCopies } = movingDatabase(store);
  return {
    ...host,
    moving,
    async close() {
      await host.close();
      removeCopies();
    },
  };
}
