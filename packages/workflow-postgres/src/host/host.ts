import { type Host, openStoreHost } from "@uncaged/workflow/host";
import { readDatabaseUrl } from "../database/address.ts";
import { openPostgresStore } from "../store/store.ts";

export type PostgresHostOptions = {
  /** `postgres://user@host:5432/database?schema=name`, with the driver's parameters such as `sslmode`. */
  url: string;
  /** The schema with all tables, unless the URL names one; `uncaged` by default. */
  schema?: string;
  /** The most connections of this host, besides one that listens; 10 by default. */
  pool?: number;
};

/**
 * Opens a PostgreSQL database as a host, and creates or updates its tables. It drives no thread: workers do
 * ({@link servePostgresWorker}), in their own environment. Reads need no worker.
 *
 * @example const host = await openPostgresHost({ url: "postgres://app@127.0.0.1/app" });
 * @throws WorkflowError `BAD_HOST`, and the errors of `database/errors.ts` and `schema/errors.ts`
 */
export async function openPostgresHost({ url, schema, pool }: PostgresHostOptions): Promise<Host> {
  const address = readDatabaseUrl(url, schema);
  const store = await openPostgresStore(address, { ...(pool !== undefined && { pool }) });
  return openStoreHost(store, { root: `postgres://${address.place}`, drives: false });
}
