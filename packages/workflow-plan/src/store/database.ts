import { Database, SQLiteError, type SQLQueryBindings } from "bun:sqlite";
import { closeSync, existsSync, openSync } from "node:fs";
import { checkVersion, migrations } from "./schema.ts";
import { databaseFailed, sqliteProblems } from "./errors.ts";

const busyMs = 5_000;

/** The path of a database in memory. */
export const inMemory = ":memory:";

/**
 * The database that all processes of a plan home share. Each write is a short transaction, and no data is kept in
 * memory between transactions.
 */
export class PlanDatabase {
  readonly #path: string;
  readonly #database: Database;

  /** Opens the database and creates missing tables. @throws ExecutorError */
  constructor(path: string) {
    this.#path = path;
    if (path !== inMemory) createFile(path);
    this.#database = this.#attempt(() => new Database(path, { create: true, strict: true }));
    try {
      this.#attempt(() => this.#prepare());
    } catch (error) {
      this.#database.close();
      throw error;
    }
  }

  #prepare(): void {
    const database = this.#database;
    database.run(`PRAGMA busy_timeout = ${busyMs}`);
    database.run("PRAGMA foreign_keys = ON");
    database.run("PRAGMA synchronous = FULL");
    if (modeOf(database) !== "wal") database.run("PRAGMA journal_mode = WAL");
    this.#migrate();
    checkVersion(database, this.#path);
  }

  #migrate(): void {
    const database = this.#database;
    if (migrations(database).length > 0) {
      const migrate = () => migrations(database).forEach((statement) => database.run(statement));
      database.transaction(migrate).immediate();
    }
  }

  get isFile(): boolean {
    return this.#path !== inMemory;
  }

  /** Returns the rows of a statement. */
  rows<Row>(statement: string, ...values: SQLQueryBindings[]): Row[] {
    return this.#attempt(() =>
      this.#database.query<Row, SQLQueryBindings[]>(statement).all(...values),
    );
  }

  /** Executes a statement and returns the number of changed rows. */
  run(statement: string, ...values: SQLQueryBindings[]): number {
    return this.#attempt(() => this.#database.query(statement).run(...values).changes);
  }

  /** Runs a function in one transaction. */
  atOnce<Result>(change: () => Result): Result {
    return this.#attempt(() => this.#database.transaction(change).immediate());
  }

  /** Returns a text that changes with each write of any process. */
  changeCounter(): string {
    const [others] = this.rows<{ data_version: number }>("PRAGMA data_version");
    const [own] = this.rows<{ n: number }>("SELECT total_changes() AS n");
    return `${others?.data_version} ${own?.n}`;
  }

  close(): void {
    this.#database.close();
  }

  #attempt<Result>(act: () => Result): Result {
    try {
      return this.#withTables(act);
    } catch (error) {
      throw databaseError(error, this.#path);
    }
  }

  /** Runs `act`; if a projected table was dropped, creates it and runs `act` again. */
  #withTables<Result>(act: () => Result): Result {
    try {
      return act();
    } catch (error) {
      const isMissing = error instanceof SQLiteError && missingTable.test(error.message);
      if (!isMissing || this.#database.inTransaction) throw error;
      this.#migrate();
      return act();
    }
  }
}

/**
 * Creates the file with access only for its owner. SQLite would let other users read the file, and copies its mode to
 * its other files. SQLite itself reports errors when it opens the file.
 */
function createFile(path: string): void {
  try {
    if (!existsSync(path)) closeSync(openSync(path, "a", 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === undefined) throw error;
  }
}

const missingTable = /^no such table: (main\.)?(workflow_runs|step_runs|sessions)$/;

const modeOf = (database: Database): string =>
  database.query<{ journal_mode: string }, []>("PRAGMA journal_mode").get()?.journal_mode ?? "";

function databaseError(error: unknown, path: string): unknown {
  const { code } = error as { code?: unknown };
  if (typeof code !== "string" || !code.startsWith("SQLITE_")) return error;
  const problem = sqliteProblems.find(([one]) => code.startsWith(one));
  return problem ? databaseFailed(path, problem, error) : error;
}
