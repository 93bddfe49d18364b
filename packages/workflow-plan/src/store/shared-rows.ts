import { inMemory, PlanDatabase } from "./database.ts";
import type { HeldLock, PlanStore, StoreLock } from "./store.ts";
import { plansBusy } from "./errors.ts";

/** The rows of plans by their keys, for the processes of several machines. Null stands for a removed row. */
export type SharedRows = {
  /** Returns the rows changed after a version; all existing rows if `isAll`. */
  since(version: number): Promise<{ version: number; isAll: boolean; rows: Map<string, unknown> }>;
  /** Changes rows that were read at a version. Returns false and changes nothing if there is a later version. */
  commit(after: number, rows: Record<string, unknown>): Promise<boolean>;
  lock: PlanStore["lock"];
  /** Closes connections, if there are any. */
  close?(): Promise<void>;
};

type Row = Record<string, string | number | null>;
/** The rows of a change by their keys; null for a removed row. */
type Rows = Map<string, Row | null>;

/** The tables, each after the tables that its rows refer to, with the column that names a row. */
const idColumns = {
  workflows: "id",
  trigger_state: "workflow_id",
  workflow_runs: "id",
  step_runs: "id",
  sessions: "id",
} as const;
type Table = keyof typeof idColumns;
const tables = Object.keys(idColumns) as Table[];

const keyOf = (table: Table, id: string): string => `${table}:${id}`;
function placeOf(key: string): [table: Table, id: string] {
  const at = key.indexOf(":");
  return [key.slice(0, at) as Table, key.slice(at + 1)];
}

/**
 * The tables whose rows all machines share. Each machine projects the steps of runs from the logs itself, because these
 * rows may be large.
 */
const sharedTables: readonly Table[] = ["workflows", "trigger_state", "workflow_runs"];
const isSharedRow = (key: string): boolean => sharedTables.includes(placeOf(key)[0]);

const mostTries = 100;
const undone = new Error("the change is committed elsewhere first");

/**
 * Plans with shared rows, and an in-memory database of these rows.
 *
 * - **S1** A change is tried on the latest rows and undone. Then the changed rows are committed for all machines, and
 *   written locally. If another process committed first, the change is tried again on the newer rows.
 * - **S2** Changes of one process run one at a time.
 * - **S3** Step runs and sessions are this process's projection of the logs.
 */
export class SharedStore implements PlanStore {
  readonly database = new PlanDatabase(inMemory);
  readonly isKept = true;
  readonly isShared = true;
  readonly #rows: SharedRows;
  #version = 0;
  #last: Promise<unknown> = Promise.resolve();

  constructor(rows: SharedRows) {
    this.#rows = rows;
    const { database } = this;
    database.run("CREATE TEMP TABLE changed (key TEXT PRIMARY KEY)");
    for (const table of tables) {
      for (const [event, row] of [
        ["INSERT", "new"],
        ["UPDATE", "new"],
        ["DELETE", "old"],
      ]) {
        const key = `'${table}:' || ${row}.${idColumns[table]}`;
        database.run(`CREATE TEMP TRIGGER ${event}_${table} AFTER ${event} ON main.${table}
          BEGIN INSERT OR REPLACE INTO changed VALUES (${key}); END`);
      }
    }
    this.#protect(true);
  }

  sync(): Promise<void> {
    return this.#alone(() => this.#sync());
  }

  change<Result>(act: () => Result): Promise<Result> {
    return this.#alone(async () => {
      for (let tries = 0; tries < mostTries; tries += 1) {
        await this.#sync();
        const { result, rows } = this.#attempt(act);
        const shared = this.#sharedOf(rows);
        const isShared = Object.keys(shared).length > 0;
        if (isShared && !(await this.#rows.commit(this.#version, shared))) continue;
        if (isShared) this.#version += 1;
        this.#write(rows);
        return result;
      }
      throw plansBusy();
    });
  }

  lock(name: StoreLock, onWait: () => void): Promise<HeldLock> {
    return this.#rows.lock(name, onWait);
  }

  changeCounter(): string {
    return this.database.changeCounter();
  }

  close(): void {
    this.database.close();
    void this.#rows.close?.();
  }

  #alone<Result>(act: () => Promise<Result>): Promise<Result> {
    const next = this.#last.then(act, act);
    this.#last = next.catch(() => undefined);
    return next;
  }

  async #sync(): Promise<void> {
    const { isAll, rows, version } = await this.#rows.since(this.#version);
    if (version === this.#version) return;
    const found = new Map([...(rows as Rows)].filter(([key]) => isSharedRow(key)));
    if (isAll) {
      for (const key of this.#keys()) if (!found.has(key)) found.set(key, null);
    }
    this.#write(found);
    this.#version = version;
  }

  /** Returns the keys of all shared rows. */
  #keys(): string[] {
    return sharedTables.flatMap((table) =>
      this.database
        .rows<{ id: string }>(`SELECT ${idColumns[table]} AS id FROM ${table}`)
        .map(({ id }) => keyOf(table, id)),
    );
  }

  /** Makes a change and undoes it. Returns its result, and the changed rows. */
  #attempt<Result>(act: () => Result): { result: Result; rows: Rows } {
    const { database } = this;
    let done: { result: Result; rows: Rows } | null = null;
    this.#protect(false);
    try {
      database.atOnce(() => {
        const result = act();
        const changed = database.rows<{ key: string }>("SELECT key FROM changed ORDER BY rowid");
        done = { result, rows: new Map(changed.map(({ key }) => [key, this.#row(key)])) };
        throw undone;
      });
    } catch (error) {
      if (error !== undone) throw error;
    } finally {
      this.#protect(true);
    }
    return done as unknown as { result: Result; rows: Rows };
  }

  #row(key: string): Row | null {
    const [table, id] = placeOf(key);
    const statement = `SELECT * FROM ${table} WHERE ${idColumns[table]} = ?`;
    return this.database.rows<Row>(statement, id)[0] ?? null;
  }

  /** Returns the changed shared rows that differ from the local rows. */
  #sharedOf(rows: Rows): Record<string, Row | null> {
    const changed = [...rows].filter(
      ([key, row]) => isSharedRow(key) && JSON.stringify(row) !== JSON.stringify(this.#row(key)),
    );
    return Object.fromEntries(changed);
  }

  #write(rows: Rows): void {
    if (rows.size === 0) return;
    const { database } = this;
    this.#protect(false);
    try {
      database.atOnce(() => {
        database.run("PRAGMA defer_foreign_keys = 1");
        for (const [key, row] of rows) this.#writeRow(key, row);
        // Removes local rows whose shared rows another machine has removed.
        database.run(
          "DELETE FROM workflow_runs WHERE workflow_id NOT IN (SELECT id FROM workflows)",
        );
        database.run("DELETE FROM step_runs WHERE run_id NOT IN (SELECT id FROM workflow_runs)");
        database.run("DELETE FROM sessions WHERE step_run_id NOT IN (SELECT id FROM step_runs)");
        database.run("DELETE FROM changed");
      });
    } finally {
      this.#protect(true);
    }
  }

  #writeRow(key: string, row: Row | null): void {
    const [table, id] = placeOf(key);
    const idColumn = idColumns[table];
    // Readers list the steps of a run in the order of their writes.
    if (row === null || table === "step_runs")
      this.database.run(`DELETE FROM ${table} WHERE ${idColumn} = ?`, id);
    if (row === null) return;
    const columns = Object.keys(row);
    const set = columns.map((column) => `${column} = excluded.${column}`);
    this.database.run(
      `INSERT INTO ${table} (${columns.join(", ")}) VALUES (${columns.map((one) => `$${one}`).join(", ")})
        ON CONFLICT (${idColumn}) DO UPDATE SET ${set.join(", ")}`,
      row,
    );
  }

  /** Protects the database against writes outside of a change. */
  #protect(isProtected: boolean): void {
    this.database.run(`PRAGMA query_only = ${Number(isProtected)}`);
  }
}
