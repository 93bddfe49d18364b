import { isThreadId } from "@uncaged/workflow/internal";
import { threadIdOf } from "../plan/terms.ts";
import type { PlanDatabase } from "./database.ts";
import type { RunRow } from "./rows.ts";

/**
 * The newest run of a plan, in the plan's metadata, which decides which run is due or open. The rows of runs only show
 * the content of their logs. Before the thread exists, this is the only record of the run.
 */
export type LastRun =
  | { id: string; status: "queued"; at: string; data: string | null }
  | { id: string; status: "running" | "completed" | "failed" };

/** A run by its ids. */
export type RunRef = { id: string; workflow_id: string };

/** A queued or running run. */
export type OpenRun = RunRef & { run: LastRun };

export const isOpen = (run: LastRun | null): boolean =>
  run?.status === "queued" || run?.status === "running";

const column = (what: string): string =>
  `iif(json_valid(w.metadata_json), w.metadata_json ${what}, NULL)`;
const runJson = column("-> '$.last_run'");
const runStatus = column("->> '$.last_run.status'");

/** Returns the newest run of a plan, or null. If the metadata is empty or damaged, returns the newest row. */
export function lastRun(database: PlanDatabase, workflowId: string): LastRun | null {
  const statement = `SELECT ${runJson} AS run FROM workflows w WHERE w.id = ?`;
  const [found] = database.rows<{ run: string | null }>(statement, workflowId);
  if (found?.run) return JSON.parse(found.run) as LastRun;
  const [row] = database.rows<RunRow & { begun: number }>(
    `SELECT r.*, EXISTS (SELECT 1 FROM step_runs s WHERE s.run_id = r.id) AS begun
      FROM workflow_runs r WHERE r.workflow_id = ? ORDER BY r.started_at DESC, r.id DESC LIMIT 1`,
    workflowId,
  );
  return row ? runOfRow(row) : null;
}

function runOfRow({ begun, id, started_at, status, trigger_data }: RunRow & { begun: number }) {
  if (status !== "running" || begun !== 0) return { id, status };
  // The row of a run from another program never gets a thread.
  if (!isThreadId(threadIdOf(id))) return { id, status: "failed" as const };
  return { id, status: "queued" as const, at: started_at, data: trigger_data };
}

/** Writes the newest run of a plan, in the caller's transaction. Damaged metadata stays unchanged. */
export function setLastRun(database: PlanDatabase, workflowId: string, run: LastRun): void {
  database.run(
    `UPDATE workflows SET metadata_json = json_set(ifnull(metadata_json, '{}'), '$.last_run', json(?))
      WHERE id = ? AND (metadata_json IS NULL OR json_valid(metadata_json))`,
    ...[JSON.stringify(run), workflowId],
  );
}

/** Returns the queued and running runs, oldest first. */
export function openRuns(database: PlanDatabase): OpenRun[] {
  const rows = database.rows<{ workflow_id: string; run: string }>(
    `SELECT w.id AS workflow_id, ${runJson} AS run FROM workflows w
      WHERE ${runStatus} IN ('queued', 'running')`,
  );
  const open = rows.map(({ run, workflow_id }) => {
    const found = JSON.parse(run) as LastRun;
    return { id: found.id, workflow_id, run: found };
  });
  return open.toSorted((one, other) => (one.id < other.id ? -1 : 1));
}

/** Returns the open runs of plans from an earlier version: only their rows say that they are open. */
export function unadoptedRuns(database: PlanDatabase): OpenRun[] {
  const rows = database.rows<RunRow & { begun: number }>(
    `SELECT r.*, EXISTS (SELECT 1 FROM step_runs s WHERE s.run_id = r.id) AS begun
      FROM workflow_runs r JOIN workflows w ON w.id = r.workflow_id
      WHERE r.status = 'running' AND ${runStatus} IS NULL
        AND (w.metadata_json IS NULL OR json_valid(w.metadata_json))`,
  );
  return rows
    .filter(({ id }) => isThreadId(threadIdOf(id)))
    .map((row) => ({ id: row.id, workflow_id: row.workflow_id, run: runOfRow(row) }));
}

/** Writes the open runs of plans into their metadata, in the caller's transaction. */
export function adoptRuns(database: PlanDatabase): void {
  for (const { run, workflow_id } of unadoptedRuns(database))
    setLastRun(database, workflow_id, run);
}

const mostWithoutLog = 20;

/** Keeps the row of a run that ended without a log, as the only record of the run. Keeps a plan's newest rows. */
export function keepWithoutLog(database: PlanDatabase, row: RunRow): void {
  const kept = withoutLog(database, row.workflow_id).filter(({ id }) => id !== row.id);
  database.run(
    `UPDATE workflows SET metadata_json = json_set(ifnull(metadata_json, '{}'), '$.runs_without_log', json(?))
      WHERE id = ? AND (metadata_json IS NULL OR json_valid(metadata_json))`,
    ...[JSON.stringify([...kept, row].slice(-mostWithoutLog)), row.workflow_id],
  );
}

/** Returns the rows of a plan's runs that have ended without a log, oldest first. */
export function withoutLog(database: PlanDatabase, workflowId: string): RunRow[] {
  const statement = `SELECT ${column("-> '$.runs_without_log'")} AS kept FROM workflows w WHERE w.id = ?`;
  const [found] = database.rows<{ kept: string | null }>(statement, workflowId);
  return found?.kept ? (JSON.parse(found.kept) as RunRow[]) : [];
}
