import type { Database } from "bun:sqlite";
import { otherSchemaVersion } from "./errors.ts";

/* The tables and indexes of the protocol, without deviations. */

/** The tables, in the order of their references. */
const tables: readonly string[] = [
  `CREATE TABLE workflows (
  id            TEXT PRIMARY KEY,
  name          TEXT NOT NULL,
  description   TEXT NOT NULL,
  trigger_json  TEXT NOT NULL,
  steps_json    TEXT NOT NULL,
  failure_policy_json TEXT NOT NULL,
  phase         TEXT NOT NULL DEFAULT 'planning',
  schema_version TEXT NOT NULL DEFAULT '1.0',
  metadata_json TEXT,
  created_at    TEXT NOT NULL,
  updated_at    TEXT NOT NULL
)`,
  `CREATE TABLE workflow_runs (
  id            TEXT PRIMARY KEY,
  workflow_id   TEXT NOT NULL REFERENCES workflows(id),
  trigger_data  TEXT,
  status        TEXT NOT NULL DEFAULT 'running',
  started_at    TEXT NOT NULL,
  completed_at  TEXT,
  error         TEXT,
  duration_ms   INTEGER
)`,
  `CREATE TABLE step_runs (
  id            TEXT PRIMARY KEY,
  run_id        TEXT NOT NULL REFERENCES workflow_runs(id),
  step_id       TEXT NOT NULL,
  status        TEXT NOT NULL DEFAULT 'pending',
  output_json   TEXT,
  error         TEXT,
  started_at    TEXT,
  completed_at  TEXT,
  duration_ms   INTEGER
)`,
  `CREATE TABLE sessions (
  id            TEXT PRIMARY KEY,
  step_run_id   TEXT NOT NULL REFERENCES step_runs(id),  -- per-step session, not per-run
  sdk_session_id TEXT,                                    -- Claude Agent SDK session ID for resume
  created_at    TEXT NOT NULL,
  last_used_at  TEXT NOT NULL,
  is_active     INTEGER NOT NULL DEFAULT 1
)`,
  `CREATE TABLE trigger_state (
  workflow_id   TEXT PRIMARY KEY REFERENCES workflows(id),
  last_result   TEXT,
  last_check_at TEXT,
  last_fire_at  TEXT,              -- Last cron fire time (ISO 8601), used for cron dedup
  last_error    TEXT
)`,
];

const indexes: readonly string[] = [
  "CREATE INDEX idx_workflows_phase ON workflows(phase)",
  "CREATE INDEX idx_workflow_runs_status ON workflow_runs(status)",
  "CREATE INDEX idx_workflow_runs_workflow_id ON workflow_runs(workflow_id)",
  "CREATE INDEX idx_step_runs_run_id ON step_runs(run_id)",
  "CREATE INDEX idx_step_runs_step_run ON step_runs(step_id, run_id)",
  "CREATE INDEX idx_sessions_step_run_id ON sessions(step_run_id)",
];

/** The only version of the format, in `workflows.schema_version`. */
const schemaVersion = "1.0";

/** Returns the statements that add a database's missing tables, columns and indexes. Existing objects stay. */
export function migrations(database: Database): string[] {
  const columns = new Map<string, Set<string>>();
  const found = database.query<{ of: string; name: string }, []>(columnsOfTables).all();
  for (const { name, of } of found) columns.set(of, (columns.get(of) ?? new Set()).add(name));
  const names = new Set(
    database
      .query<{ name: string }, []>("SELECT name FROM sqlite_schema WHERE type = 'index'")
      .all()
      .map(({ name }) => name),
  );
  return [
    ...tables.flatMap((table) => {
      const there = columns.get(nameIn(table));
      return there ? missingColumns(table, there) : [table];
    }),
    ...indexes.filter((index) => !names.has(nameIn(index))),
  ];
}

const columnsOfTables = `SELECT t.name AS "of", c.name AS name
  FROM sqlite_schema t JOIN pragma_table_info(t.name) c WHERE t.type = 'table'`;

const nameIn = (statement: string): string => statement.split(/\s+/)[2] ?? "";

function missingColumns(table: string, there: ReadonlySet<string>): string[] {
  const lines = table.split("\n").slice(1, -1);
  return lines.flatMap((line) => {
    const declaration = line.replace(/--.*/, "").trim().replace(/,$/, "").replace(/\s+/g, " ");
    if (there.has(declaration.split(" ", 1)[0] ?? "")) return [];
    // SQLite needs a value for the existing rows.
    const isFilled = !/ NOT NULL(?! DEFAULT)/.test(declaration);
    return [
      `ALTER TABLE ${nameIn(table)} ADD COLUMN ${declaration}${isFilled ? "" : " DEFAULT ''"}`,
    ];
  });
}

/** Checks the version of the plans in a database. @throws ExecutorError */
export function checkVersion(database: Database, path: string): void {
  const newer = database
    .query<{ schema_version: string }, [string]>(
      "SELECT schema_version FROM workflows WHERE schema_version <> ? LIMIT 1",
    )
    .get(schemaVersion);
  if (newer === null) return;
  throw otherSchemaVersion(path, JSON.stringify(newer.schema_version), schemaVersion);
}
