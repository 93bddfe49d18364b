import { AsyncLocalStorage } from "node:async_hooks";
import { isWorkflowError, type WorkflowError } from "@uncaged/workflow/host";
import pg from "pg";
import pgpass from "pgpass";
import { type DatabaseAddress, passwordVariable, withPassword } from "./address.ts";
import {
  databaseFailed,
  databaseFull,
  databaseMissing,
  fileUnreadable,
  loginRefused,
  readOnly,
  rightsMissing,
  tlsFailed,
  unreachable,
} from "./errors.ts";

/** Options of the connections to a database. */
export type DatabaseOptions = {
  /** Maximum number of connections, without the listening connection; 10 by default. */
  pool?: number;
};

/** One statement of several in a transaction. */
export type Statement = { sql: string; values?: readonly unknown[] };

/** Runs one statement of a transaction. */
export type Query = <Row extends object>(
  sql: string,
  values?: readonly unknown[],
) => Promise<Row[]>;

const connectMs = 5_000;
const queryMs = 30_000;
/** Timeout of a short statement, in milliseconds. A renewal that times out must be retried before the leases end. */
export const promptMs = 10_000;
/** Maximum attempts of a statement that conflicts with others, and the maximum pause between attempts (ms). */
const [mostTries, longestPauseMs] = [20, 20];
/** Begins a transaction. The timeout releases the locks of a process that freezes within the transaction. */
const begin = "BEGIN; SET LOCAL idle_in_transaction_session_timeout = '10s'";

/** Parses 8-byte integers as numbers: they are counters and times, far below 2^53. */
const types = {
  getTypeParser: ((oid: Parameters<typeof pg.types.getTypeParser>[0], format?: "text") =>
    oid === pg.types.builtins.INT8
      ? Number
      : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser,
};

/**
 * A connection. If its URL lacks a password, reads `~/.pgpass` at each connect, so a running worker uses a new
 * password.
 */
class Connection extends pg.Client {
  constructor(config?: string | pg.ClientConfig) {
    super(config);
    // The driver also reads the file, but warns that its next version will not.
    if (!this.password) Object.assign(this, { password: () => this.#passwordInFile() });
  }

  async #passwordInFile(): Promise<string | undefined> {
    const found = Promise.withResolvers<string | undefined>();
    const { host, port, database, user } = this;
    pgpass({ host, port, ...(database && { database }), ...(user && { user }) }, found.resolve);
    return await found.promise;
  }
}

/**
 * Connections to a database. Every query is one statement that includes its schema, so it works through PgBouncer in
 * transaction mode: no setting, lock or prepared statement outlives a transaction.
 */
export class Database {
  readonly address: DatabaseAddress;
  /** The quoted name of the schema. */
  readonly schema: string;
  #pool: pg.Pool;
  /** Earlier pools, which end connections that are idle for ten seconds. */
  #left: readonly pg.Pool[] = [];
  readonly #most: number;
  /** The URL with the environment's password. A worker removes the password before it loads bundles. */
  readonly #url: string;
  /**
   * Runs a function in the async context of the constructor. The driver reads `process.env` at each connection, and the
   * context of a thread has the thread's environment.
   */
  readonly #outside = AsyncLocalStorage.snapshot();

  constructor(address: DatabaseAddress, { pool = 10 }: DatabaseOptions = {}) {
    this.address = address;
    this.schema = `"${address.schema}"`;
    this.#url = withPassword(address, process.env[passwordVariable]);
    this.#most = pool;
    this.#pool = this.#opened();
  }

  #opened(): pg.Pool {
    const limits = { max: this.#most, query_timeout: queryMs };
    const pool = new pg.Pool({ ...this.#settings(), ...limits, Client: Connection });
    // The next query opens another connection.
    pool.on("error", () => undefined);
    return pool;
  }

  #settings(): pg.ClientConfig {
    const name = `uncaged-workflow ${process.pid}`;
    const times = { connectionTimeoutMillis: connectMs, keepAlive: true };
    return { connectionString: this.#url, application_name: name, ...times, types };
  }

  /**
   * Runs one statement as a transaction. Fails if the server does not answer in time.
   * @throws WorkflowError of `errors.ts`, with the driver's error as its cause
   */
  async query<Row extends object>(
    sql: string,
    values: readonly unknown[] = [],
    timeoutMs: number = queryMs,
  ): Promise<Row[]> {
    const query = { text: sql, values: [...values], query_timeout: timeoutMs };
    return await this.#again(async () => {
      const pool = this.#pool;
      try {
        return (await this.#outside(() => pool.query<Row>(query))).rows;
      } catch (error) {
        if (isSilent(error)) this.#leave(pool);
        throw error;
      }
    });
  }

  /**
   * Opens new connections for later queries: after a timeout of one connection, all others may be lost too. Queries
   * that already wait for the earlier connections continue; connections without a query end.
   */
  #leave(pool: pg.Pool): void {
    if (this.#pool !== pool) return;
    this.#pool = this.#opened();
    this.#left = [...this.#left.filter(({ totalCount }) => totalCount > 0), pool];
  }

  /** Retries a transaction that the server rolled back because of a conflict. */
  async #again<T>(run: () => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await run();
      } catch (error) {
        if (tries >= mostTries || !isConflict(error)) throw this.problem(error);
        await Bun.sleep(Math.random() * longestPauseMs);
      }
    }
  }

  /** Runs several statements in one transaction. @throws as {@link query} */
  async transaction(statements: readonly Statement[]): Promise<void> {
    await this.within(async (query) => {
      for (const { sql, values } of statements) await query(sql, values);
    });
  }

  /**
   * Runs a function in one transaction, with the query function of its connection. An error of the function rolls back
   * the transaction. After a conflict with another transaction, runs the function again.
   * @throws as {@link query}
   */
  async within<Result>(act: (query: Query) => Promise<Result>): Promise<Result> {
    return await this.#again(async () => {
      const client = await this.#outside(() => this.#pool.connect());
      const query: Query = async (sql, values = []) => (await client.query(sql, [...values])).rows;
      try {
        await client.query(begin);
        const result = await act(query);
        await client.query("COMMIT");
        client.release();
        return result;
      } catch (error) {
        client.release(true);
        throw error;
      }
    });
  }

  /** Returns a connection outside the pool, for short statements. The caller connects and ends it. */
  client(): pg.Client {
    return this.#outside(() => new Connection({ ...this.#settings(), query_timeout: connectMs }));
  }

  async close(): Promise<void> {
    await Promise.all([this.#pool, ...this.#left].map((pool) => pool.end()));
  }

  /** Returns a user-facing error for a failed query. */
  problem(error: unknown): WorkflowError {
    if (isWorkflowError(error)) return error;
    const { place } = this.address;
    const code = codeOf(error);
    if (code === "28P01" || code === "28000") return loginRefused(place, error);
    if (isPasswordMissing(error)) return loginRefused(place, error, "no password is given");
    if (code === "3D000") return databaseMissing(place, error);
    if (code === "42501") return rightsMissing(place, error);
    if (code === "25006") return readOnly(place, error);
    if (code === "53100") return databaseFull(place, error);
    if ((error as { syscall?: string }).syscall === "open") return fileUnreadable(error);
    if (isTls(error)) return tlsFailed(place, error);
    return isLost(error) ? unreachable(place, error) : databaseFailed(place, error);
  }
}

/** Returns the SQLSTATE of an error, or the code of a network error; empty for an error without a code. */
export function codeOf(error: unknown): string {
  const { code, cause } = error as { code?: unknown; cause?: unknown };
  if (isWorkflowError(error)) return cause === undefined ? "" : codeOf(cause);
  return typeof code === "string" ? code : "";
}

/** Tells whether a required password is missing. The driver reports this without an error code. */
const isPasswordMissing = (error: unknown): boolean =>
  /^SASL: .*password/.test((error as { message?: string }).message ?? "");

/**
 * Tells whether TLS failed: a certificate is invalid, or the server lacks TLS, which the driver reports without a code.
 */
const isTls = (error: unknown): boolean =>
  /CERT|SIGNATURE|^ERR_(TLS|SSL|OSSL|CRYPTO)/.test(codeOf(error)) ||
  /does not support SSL|Invalid CA/.test((error as { message?: string }).message ?? "");

/** Tells whether the server did not answer in time. The driver reports this without an error code. */
const isSilent = (error: unknown): boolean =>
  (error as { message?: string }).message === "Query read timeout";

/** Tells whether the connection was lost, could not be made, or timed out. */
function isLost(error: unknown): boolean {
  const code = codeOf(error);
  // SQLSTATEs have five characters: class 08 is connection errors, 57P a shutdown, 53300 too many connections.
  if (/^[0-9A-Z]{5}$/.test(code) && !/^E[A-Z]{4}$/.test(code)) {
    return /^(08|57P)/.test(code) || code === "53300";
  }
  const { message = "" } = error as { message?: string };
  return code !== "" || /terminat|timeout|closed|ended|not queryable|ECONN/i.test(message);
}

/** Tells whether the server rolled back the statement because of a deadlock or a serialization failure. */
const isConflict = (error: unknown): boolean => /^(40001|40P01)$/.test(codeOf(error));

/**
 * Tells whether a retry of a statement may succeed: its connection was lost, it was cancelled, it conflicted with
 * another statement, the server is about to be replaced, or the disk was full.
 */
export const isPassing = (error: unknown): boolean => {
  const own = isWorkflowError(error) && error.cause !== undefined ? error.cause : error;
  return isLost(own) || /^(40001|40P01|57014|55P03|25006|53...)$/.test(codeOf(own));
};
