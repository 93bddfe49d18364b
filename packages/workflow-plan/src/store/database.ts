import { Database, SQLiteError, type SQLQueryBindings } from "bun:sqlite";
import { closeSync, existsSync, openSync } from "node:fs";
import { ExecutorError } from "../error/error.ts";
import { checkVersion, migrations } from "./schema.ts";

const busyMs = 5_000;

/** The path of a database that is in no file. */
export const inMemory = ":memory:";

/** By the beginning of SQLite's code: what is wrong, and what to do. */
const causes: readonly (readonly [code: string, message: string, hint: string])[] = [
  ["SQLITE_BUSY", "is locked by another process", "try again when that is done"],
  ["SQLITE_LOCKED", "is locked by another process", "try again when that is done"],
  [
    "SQLITE_READONLY",
    "can't be written",
    "check the owner and the mode of the file and its folder",
  ],
  ["SQLITE_CANTOPEN", "can't be opened", "check the owner and the mode of the file and its folder"],
  ["SQLITE_PERM", "can't be opened", "check the owner and the mode of the file and its folder"],
  ["SQLITE_FULL", "can't grow: the disk is full", "free some space; what was committed is there"],
  // SQLite can't make its files larger that processes share.
  [
    "SQLITE_IOERR_SHMSIZE",
    "can't grow: the disk is full",
    "free some space; what was committed is there",
  ],
  ["SQLITE_IOERR", "can't be read or written", "check the disk; what was committed is there"],
  [
    "SQLITE_CORRUPT",
    "is damaged",
    "put it back from a backup; runs are made again by plan rebuild",
  ],
  ["SQLITE_NOTADB", "is no database", "put it back from a backup, or move it away"],
];

/**
 * The database that all processes of a plan home share. Each write is a short transaction, and nothing is kept in
 * memory from one to the next.
 */
export class PlanDatabase {
  readonly #path: string;
  readonly #database: Database;

  /** Opens it, makes what is missing of its tables. @throws ExecutorError */
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

  /** The rows that a statement gives. */
  rows<Row>(statement: string, ...values: SQLQueryBindings[]): Row[] {
    return this.#attempt(() =>
      this.#database.query<Row, SQLQueryBindings[]>(statement).all(...values),
    );
  }

  /** Executes a statement, and gives how many rows it changed. */
  run(statement: string, ...values: SQLQueryBindings[]): number {
    return this.#attempt(() => this.#database.query(statement).run(...values).changes);
  }

  /** Makes all changes of a function in one transaction, or none of them. */
  atOnce<Result>(change: () => Result): Result {
    return this.#attempt(() => this.#database.transaction(change).immediate());
  }

  /** Another text than before: this or another process has written. */
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

  /** Makes a projected table again that was dropped, and acts again. */
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

/** SQLite would let others read it, and makes its other files after this one. What goes wrong it reports itself. */
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
  const [, message, hint] = causes.find(([one]) => code.startsWith(one)) ?? [];
  if (message === undefined) return error;
  return new ExecutorError(`${path} ${message}`, { hint, cause: error });
}
