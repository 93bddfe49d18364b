import type { Workflow } from "../plan/plan.ts";
import { threadIdOf } from "../plan/terms.ts";
import type { PlanDatabase } from "../store/database.ts";
import { move } from "../store/phase.ts";
import type { RunRows } from "./projection.ts";
import {
  type RunRow,
  type SessionRow,
  type StepRow,
  type WorkflowRow,
  workflowOf,
} from "../store/rows.ts";

/** A run that has ended. */
export type Ended = {
  workflowId: string;
  runId: string;
  threadId: string;
  status: "completed" | "failed";
  error: string | null;
};

const runColumns =
  "id, workflow_id, trigger_data, status, started_at, completed_at, error, duration_ms";
const upsertRun = `INSERT INTO workflow_runs (${runColumns})
  VALUES ($id, $workflow_id, $trigger_data, $status, $started_at, $completed_at, $error, $duration_ms)`;
const updateRun = `UPDATE workflow_runs SET trigger_data = $trigger_data, status = $status,
  started_at = $started_at, completed_at = $completed_at, error = $error, duration_ms = $duration_ms
  WHERE id = $id AND workflow_id = $workflow_id`;
const insertStep = `INSERT INTO step_runs
  (id, run_id, step_id, status, output_json, error, started_at, completed_at, duration_ms)
  VALUES ($id, $run_id, $step_id, $status, $output_json, $error, $started_at, $completed_at, $duration_ms)`;
const insertSession = `INSERT INTO sessions
  (id, step_run_id, sdk_session_id, created_at, last_used_at, is_active)
  VALUES ($id, $step_run_id, $sdk_session_id, $created_at, $last_used_at, $is_active)`;

/** The step runs of a run, in the order in which they were written: the plan's. */
export const stepRowsOf = (database: PlanDatabase, runId: string): StepRow[] =>
  database.rows<StepRow>("SELECT * FROM step_runs WHERE run_id = ? ORDER BY rowid", runId);

const sessionRowsOf = (database: PlanDatabase, runId: string): SessionRow[] =>
  database.rows<SessionRow>(
    `SELECT s.* FROM sessions s JOIN step_runs r ON r.id = s.step_run_id
      WHERE r.run_id = ? ORDER BY s.rowid`,
    runId,
  );

export const runRowOf = (database: PlanDatabase, runId: string): RunRow | null =>
  database.rows<RunRow>(`SELECT ${runColumns} FROM workflow_runs WHERE id = ?`, runId)[0] ?? null;

/**
 * Writes the rows of a run, with the plan's phase when it has ended. An ended run stays as it is, for its log may have
 * been read before it ended; `again` makes its rows anew. Where nothing has changed nothing is written.
 */
export function writeRows(
  database: PlanDatabase,
  rows: RunRows,
  at: string,
  { again = false }: { again?: boolean } = {},
): Ended | null {
  const { id, workflow_id } = rows.run;
  if (isWritten(database, rows)) return null;
  return database.atOnce(() => {
    const before = runRowOf(database, id);
    if (before === null) {
      if (!again || !isThere(database, workflow_id)) return null;
      database.run(upsertRun, rows.run);
    } else {
      if (before.status !== "running" && !again) return null;
      database.run(updateRun, rows.run);
    }
    removeSteps(database, id);
    for (const step of rows.steps) database.run(insertStep, step);
    for (const session of rows.sessions) database.run(insertSession, session);
    if (rows.run.status === "running") return null;
    settlePhase(database, workflow_id, at);
    return before?.status === "running" ? endedOf(rows.run) : null;
  });
}

/** Whether the rows of a run are what they are to be. */
export function isWritten(database: PlanDatabase, { run, sessions, steps }: RunRows): boolean {
  const there = [runRowOf(database, run.id), stepRowsOf(database, run.id)];
  return (
    JSON.stringify(there) === JSON.stringify([run, steps]) &&
    JSON.stringify(sessionRowsOf(database, run.id)) === JSON.stringify(sessions)
  );
}

const isThere = (database: PlanDatabase, workflowId: string): boolean =>
  database.rows("SELECT 1 FROM workflows WHERE id = ?", workflowId).length > 0;

/** The plan with an id; null when there is none. @throws ExecutorError when it is damaged. */
export function planOf(database: PlanDatabase, id: string): Workflow | null {
  const [row] = database.rows<WorkflowRow>("SELECT * FROM workflows WHERE id = ?", id);
  return row ? workflowOf(row) : null;
}

/** Removes the step runs and the sessions of a run. */
export function removeSteps(database: PlanDatabase, runId: string): void {
  const steps = "SELECT id FROM step_runs WHERE run_id = ?";
  database.run(`DELETE FROM sessions WHERE step_run_id IN (${steps})`, runId);
  database.run("DELETE FROM step_runs WHERE run_id = ?", runId);
}

/** Removes the rows of the oldest runs of a plan that have ended, all but so many; their threads stay. */
export function removeOldRuns(database: PlanDatabase, workflowId: string, kept: number): void {
  const old = database.rows<{ id: string }>(
    `SELECT id FROM workflow_runs WHERE workflow_id = ? AND status <> 'running'
      ORDER BY started_at DESC, id DESC LIMIT -1 OFFSET ?`,
    ...[workflowId, kept],
  );
  for (const { id } of old) {
    removeSteps(database, id);
    database.run("DELETE FROM workflow_runs WHERE id = ?", id);
  }
}

const endedOf = ({ error, id, status, workflow_id }: RunRow): Ended => ({
  ...{ workflowId: workflow_id, runId: id, threadId: threadIdOf(id), error },
  status: status === "completed" ? "completed" : "failed",
});

/**
 * Ends a run for which there is no log: it has not begun, or its log was removed. What was at work in it has failed
 * with it. Null when it has ended already.
 */
export function failRun(
  database: PlanDatabase,
  runId: string,
  error: string,
  at: string,
): Ended | null {
  return database.atOnce(() => {
    const run = runRowOf(database, runId);
    if (run?.status !== "running") return null;
    const failed: RunRow = {
      ...run,
      ...{ status: "failed", error, completed_at: at },
      duration_ms: Math.max(0, Date.parse(at) - Date.parse(run.started_at)) || 0,
    };
    database.run(updateRun, failed);
    const steps = "WHERE run_id = ?";
    database.run(
      `UPDATE step_runs SET status = 'failed', error = ?, completed_at = ? ${steps} AND status = 'running'`,
      ...[error, at, runId],
    );
    database.run(`UPDATE step_runs SET status = 'skipped' ${steps} AND status = 'pending'`, runId);
    database.run(
      `UPDATE sessions SET is_active = 0 WHERE step_run_id IN (SELECT id FROM step_runs ${steps})`,
      runId,
    );
    settlePhase(database, run.workflow_id, at);
    return endedOf(failed);
  });
}

/**
 * Sets the phase of a plan none of whose runs goes on any more. One that is paused stays so, and one whose trigger can't be
 * read, until that is repaired.
 */
export function settlePhase(database: PlanDatabase, workflowId: string, at: string): void {
  const [plan] = database.rows<Pick<WorkflowRow, "phase" | "trigger_json">>(
    "SELECT phase, trigger_json FROM workflows WHERE id = ?",
    workflowId,
  );
  if (plan?.phase !== "executing" || unfinishedOf(database, workflowId) !== null) return;
  const type = triggerTypeOf(plan.trigger_json);
  if (type === null) return;
  const status = lastRunOf(database, workflowId)?.status === "completed" ? "completed" : "failed";
  move(database, workflowId, ["executing", type === "manual" ? status : "active"], at);
}

function triggerTypeOf(json: string): Workflow["trigger"]["type"] | null {
  try {
    return (JSON.parse(json) as Partial<Workflow["trigger"]> | null)?.type ?? null;
  } catch {
    return null;
  }
}

/** The run of a plan that goes on; null when none does. */
export const unfinishedOf = (database: PlanDatabase, workflowId: string): RunRow | null =>
  database.rows<RunRow>(
    `SELECT ${runColumns} FROM workflow_runs WHERE workflow_id = ? AND status = 'running'`,
    workflowId,
  )[0] ?? null;

/** The newest run of a plan. */
export const lastRunOf = (database: PlanDatabase, workflowId: string): RunRow | null =>
  database.rows<RunRow>(
    `SELECT ${runColumns} FROM workflow_runs WHERE workflow_id = ?
      ORDER BY started_at DESC, id DESC LIMIT 1`,
    workflowId,
  )[0] ?? null;
