import type { Host } from "@uncaged/workflow/host";
import type { Workflow } from "../plan/plan.ts";
import { runIdOf, threadIdOf } from "../plan/terms.ts";
import type { PlanDatabase } from "../store/database.ts";
import {
  isOpen,
  keepWithoutLog,
  lastRun,
  openRuns,
  type RunRef,
  setLastRun,
  withoutLog,
} from "../store/last-run.ts";
import { settlePhase } from "../store/phase.ts";
import {
  bundleName,
  type RunRow,
  type SessionRow,
  type StepRow,
  type WorkflowRow,
  workflowOf,
} from "../store/rows.ts";
import type { PlanStore } from "../store/store.ts";
import type { RunRows } from "./fold.ts";
import { RunReader } from "./thread-log.ts";

/** A run that has ended. */
export type Ended = {
  workflowId: string;
  runId: string;
  threadId: string;
  status: "completed" | "failed";
  error: string | null;
};

/** The rows of a run in the tables; `run` is null if its row is missing. */
type Stored = { run: RunRow | null; steps: StepRow[]; sessions: SessionRow[] };

const logIsGone = "the log of its thread is gone";
const updateRun = `UPDATE workflow_runs SET trigger_data = $trigger_data, status = $status,
  started_at = $started_at, completed_at = $completed_at, error = $error, duration_ms = $duration_ms
  WHERE id = $id AND workflow_id = $workflow_id`;

/** Returns the step runs of a run, in the order of the plan. */
export const stepRowsOf = (database: PlanDatabase, runId: string): StepRow[] =>
  database.rows<StepRow>("SELECT * FROM step_runs WHERE run_id = ? ORDER BY rowid", runId);

const sessionRowsOf = (database: PlanDatabase, runId: string): SessionRow[] =>
  database.rows<SessionRow>(
    `SELECT s.* FROM sessions s JOIN step_runs r ON r.id = s.step_run_id
      WHERE r.run_id = ? ORDER BY s.rowid`,
    runId,
  );

export const runRowOf = (database: PlanDatabase, runId: string): RunRow | null =>
  database.rows<RunRow>("SELECT * FROM workflow_runs WHERE id = ?", runId)[0] ?? null;

/** Returns the row of the newest run of a plan. */
export const lastRunOf = (database: PlanDatabase, workflowId: string): RunRow | null =>
  database.rows<RunRow>(
    `SELECT * FROM workflow_runs WHERE workflow_id = ?
      ORDER BY started_at DESC, id DESC LIMIT 1`,
    workflowId,
  )[0] ?? null;

/**
 * Returns the plan with an id, or null if it is missing.
 * @throws ExecutorError if it is damaged.
 */
export function planOf(database: PlanDatabase, id: string): Workflow | null {
  const [row] = database.rows<WorkflowRow>("SELECT * FROM workflows WHERE id = ?", id);
  return row ? workflowOf(row) : null;
}

/**
 * The one-way projection of runs: keeps `workflow_runs`, `step_runs` and `sessions` equal to the logs of the runs'
 * threads.
 *
 * Owns these three tables: only this class writes them, and they do not decide which run is due or open. Does not own
 * threads or phases. Called by `runs.ts` and `home/plans.ts`, in every process that has the home open.
 *
 * - **P1** A row is a function of its run's log. Without a log, a row is a function of the plan's metadata: `last_run`
 * for a queued run, or `runs_without_log`.
 * - **P2** Rows are written only if they have not changed since before the log was read. So a process cannot replace
 *   rows by the rows of a shorter part of the log.
 * - **P3** The end of a run is one transaction: its rows, `last_run` and the phase. Exactly one process writes and
 * reports the end.
 * - **P4** The tables may be emptied at any time. `follow` restores the rows of open runs, `complete` the steps of a
 *   plan's other runs, `rebuild` all rows.
 */
export class Projection {
  readonly #store: PlanStore;
  readonly #host: Host;
  readonly #reader: RunReader;
  readonly #at: () => string;
  readonly #compared = new Map<string, { counter: string; rows: RunRows }>();

  constructor(store: PlanStore, host: Host, at: () => string) {
    this.#store = store;
    this.#host = host;
    this.#reader = new RunReader(host);
    this.#at = at;
  }

  get #database(): PlanDatabase {
    return this.#store.database;
  }

  /** Returns the open runs, including runs that are open only by their rows. */
  unfinished(): RunRef[] {
    const rows = this.#database.rows<RunRef>(
      "SELECT id, workflow_id FROM workflow_runs WHERE status = 'running' ORDER BY id",
    );
    const open = openRuns(this.#database);
    const known = new Set(open.map(({ id }) => id));
    return [...open, ...rows.filter(({ id }) => !known.has(id))];
  }

  /** Writes the row of a queued run, in the caller's transaction. */
  queue(run: RunRef, at: string, data: string | null): void {
    this.#put({ run: queuedRow(run, at, data), steps: [], sessions: [] });
  }

  /** Updates the rows of a run from its log. Returns the run's end if this call wrote it. */
  async follow(run: RunRef): Promise<Ended | null> {
    return (await this.#follow(run)).ended;
  }

  async #follow(run: RunRef): Promise<{ ended: Ended | null; hasLog: boolean }> {
    for (;;) {
      const counter = this.#database.changeCounter();
      const last = lastRun(this.#database, run.workflow_id);
      const known = this.#compared.get(run.id);
      const before = known?.counter === counter ? known.rows : this.#stored(run.id);
      const rows = await this.#reader.rows(run, () => planOf(this.#database, run.workflow_id));
      if (rows === null) {
        const ended = this.#isSettled(run)
          ? null
          : await this.#store.change(() => this.#missing(run, last?.status));
        if (ended !== "changed") return { ended, hasLog: false };
        continue;
      }
      const hasEnd = rows.run.status !== "running";
      const isNew =
        !isSame(before, rows) ||
        (last?.id === run.id && isOpen(last) && (hasEnd || last.status === "queued"));
      const ended = isNew ? await this.#store.change(() => this.#write(run, before, rows)) : null;
      if (ended === "changed") continue;
      if (hasEnd || isNew) this.#compared.delete(run.id);
      else this.#compared.set(run.id, { counter, rows });
      return { ended, hasLog: true };
    }
  }

  #stored(runId: string): Stored {
    const database = this.#database;
    const steps = stepRowsOf(database, runId);
    return { run: runRowOf(database, runId), steps, sessions: sessionRowsOf(database, runId) };
  }

  #write(run: RunRef, before: Stored, rows: RunRows): Ended | "changed" | null {
    if (!isSame(before, this.#stored(run.id))) return "changed";
    const last = lastRun(this.#database, run.workflow_id);
    if (!this.#put(rows)) return null;
    const isOpenRun = last?.id === run.id && isOpen(last);
    const { status } = rows.run;
    if (isOpenRun && last.status !== status)
      setLastRun(this.#database, run.workflow_id, { id: run.id, status });
    if (status === "running") return null;
    settlePhase(this.#database, run.workflow_id, this.#at());
    return isOpenRun || before.run?.status === "running" ? endedOf(rows.run) : null;
  }

  /**
   * Tells whether the rows of a run without a log are up to date: the run has ended, or its row says that it is queued.
   */
  #isSettled({ id, workflow_id }: RunRef): boolean {
    const last = lastRun(this.#database, workflow_id);
    const row = runRowOf(this.#database, id);
    if (last?.id !== id || !isOpen(last)) return row?.status !== "running";
    return last.status === "queued" && row !== null;
  }

  /** Settles a run without a log: it is still queued, or its log is missing. */
  #missing(run: RunRef, before: string | undefined): Ended | "changed" | null {
    const last = lastRun(this.#database, run.workflow_id);
    if (last?.status !== before) return "changed";
    if (last?.id === run.id && last.status === "queued") {
      if (runRowOf(this.#database, run.id) === null) this.queue(run, last.at, last.data);
      return null;
    }
    return this.#end(run, logIsGone);
  }

  /** Ends a run that has not started, or whose log is missing. Returns null if the run has already ended. */
  end(run: RunRef, error: string): Promise<Ended | null> {
    return this.#store.change(() => this.#end(run, error));
  }

  #end(run: RunRef, error: string): Ended | null {
    const [database, at] = [this.#database, this.#at()];
    const last = lastRun(database, run.workflow_id);
    const isOpenRun = last?.id === run.id && isOpen(last);
    const stored = this.#stored(run.id);
    const row = stored.run ?? (isOpenRun ? rowOf(run, last, at) : null);
    if (row?.status !== "running") return null;
    const ended: RunRow = {
      ...row,
      ...{ status: "failed", error, completed_at: at },
      duration_ms: Math.max(0, Date.parse(at) - Date.parse(row.started_at)) || 0,
    };
    const steps = stored.steps.map((step) => endedStep(step, error, at));
    const sessions = stored.sessions.map((session) => ({ ...session, is_active: 0 }));
    this.#put({ run: ended, steps, sessions });
    if (isOpenRun) {
      keepWithoutLog(database, ended);
      setLastRun(database, run.workflow_id, { id: run.id, status: "failed" });
    }
    settlePhase(database, run.workflow_id, at);
    return endedOf(ended);
  }

  /** Writes rows. Returns false if the plan is missing. */
  #put({ run, sessions, steps }: RunRows): boolean {
    const database = this.#database;
    if (database.run(updateRun, run) === 0) {
      const plan = "SELECT 1 FROM workflows WHERE id = ?";
      if (database.rows(plan, run.workflow_id).length === 0) return false;
      this.#insert("workflow_runs", run);
    }
    this.#removeSteps(run.id);
    for (const step of steps) this.#insert("step_runs", step);
    for (const session of sessions) this.#insert("sessions", session);
    return true;
  }

  #insert(table: string, row: RunRow | StepRow | SessionRow): void {
    const columns = Object.keys(row);
    const values = columns.map((one) => `$${one}`).join(", ");
    this.#database.run(`INSERT INTO ${table} (${columns.join(", ")}) VALUES (${values})`, row);
  }

  #removeSteps(runId: string): void {
    const steps = "SELECT id FROM step_runs WHERE run_id = ?";
    this.#database.run(`DELETE FROM sessions WHERE step_run_id IN (${steps})`, runId);
    this.#database.run("DELETE FROM step_runs WHERE run_id = ?", runId);
  }

  /** Removes the rows of a plan's ended runs except the newest `kept`, in the caller's transaction. */
  remove(workflowId: string, kept = 0): void {
    const isAll = kept === 0;
    const rows = this.#database.rows<{ id: string }>(
      `SELECT id FROM workflow_runs WHERE workflow_id = $workflowId AND ($isAll OR status <> 'running')
        ORDER BY started_at DESC, id DESC LIMIT -1 OFFSET $kept`,
      { workflowId, isAll, kept },
    );
    for (const { id } of rows) {
      this.#removeSteps(id);
      this.#database.run("DELETE FROM workflow_runs WHERE id = ?", id);
    }
  }

  /** Writes the steps of a plan's ended runs if they are missing, or come from an earlier state of the log. */
  async complete(workflowId: string): Promise<void> {
    const runs = this.#database.rows<RunRef>(
      `SELECT id, workflow_id FROM workflow_runs r WHERE workflow_id = ? AND status <> 'running'
        AND (NOT EXISTS (SELECT 1 FROM step_runs s WHERE s.run_id = r.id)
          OR EXISTS (SELECT 1 FROM step_runs s WHERE s.run_id = r.id AND s.status IN ('pending', 'running')))`,
      workflowId,
    );
    for (const run of runs) await this.follow(run);
  }

  /**
   * Rebuilds the rows of all runs, or of one plan's runs. Keeps the row of a run whose log was removed. Returns the number
   * of runs with a log.
   */
  async rebuild(workflowId?: string): Promise<{ runs: number }> {
    await this.#store.change(() => this.#restoreWithoutLog());
    const runs = this.#knownRuns();
    const known = new Set(runs.map(({ id }) => id));
    for await (const run of this.#threadsOfPlans()) if (!known.has(run.id)) runs.push(run);
    let count = 0;
    for (const run of runs.toSorted((one, other) => (one.id < other.id ? -1 : 1))) {
      if (run.workflow_id !== (workflowId ?? run.workflow_id)) continue;
      this.#compared.delete(run.id);
      if ((await this.#follow(run)).hasLog) count += 1;
    }
    return { runs: count };
  }

  #knownRuns(): RunRef[] {
    const rows = this.#database.rows<RunRef>("SELECT id, workflow_id FROM workflow_runs");
    const known = new Set(rows.map(({ id }) => id));
    return [...rows, ...openRuns(this.#database).filter(({ id }) => !known.has(id))];
  }

  /** Tells whether a plan has a run with trigger data. */
  hasRunOf(workflowId: string, triggerData: string): boolean {
    const run = "SELECT 1 FROM workflow_runs WHERE workflow_id = ? AND trigger_data = ?";
    return this.#database.rows(run, workflowId, triggerData).length > 0;
  }

  /** Removes rows without a run, and writes the rows of runs without a log. */
  #restoreWithoutLog(): void {
    const database = this.#database;
    database.run("DELETE FROM sessions WHERE step_run_id NOT IN (SELECT id FROM step_runs)");
    const stray =
      "SELECT DISTINCT run_id FROM step_runs WHERE run_id NOT IN (SELECT id FROM workflow_runs)";
    for (const { run_id } of database.rows<{ run_id: string }>(stray)) this.#removeSteps(run_id);
    for (const { id } of database.rows<{ id: string }>("SELECT id FROM workflows")) {
      for (const run of withoutLog(database, id))
        if (runRowOf(database, run.id) === null) this.#put({ run, steps: [], sessions: [] });
    }
  }

  /**
   * Returns the threads with the name of a plan's bundle, as runs of each plan with that name: only a thread's log tells
   * which plan the thread belongs to.
   */
  async *#threadsOfPlans(): AsyncGenerator<RunRef> {
    const named = this.#database.rows<{ workflow_id: string; name: string | null }>(
      `SELECT id AS workflow_id, ${bundleName} AS name FROM workflows w`,
    );
    const plans = Map.groupBy(named, ({ name }) => name);
    for (let before: string | undefined; ; ) {
      const { next, rows } = await this.#host.threads({ limit: 200, before });
      for (const { threadId, workflow } of rows) {
        for (const { workflow_id } of plans.get(workflow) ?? [])
          yield { id: runIdOf(threadId), workflow_id };
      }
      if (next === null) return;
      before = next;
    }
  }
}

const isSame = (one: Stored, other: Stored): boolean =>
  one === other || JSON.stringify(inOrder(one)) === JSON.stringify(inOrder(other));

/** Returns rows as values in the order of the columns. */
function inOrder({ run, sessions, steps }: Stored): unknown {
  return [run, ...steps, ...sessions].map(
    (row) => row && Object.entries(row).toSorted(([one], [other]) => (one < other ? -1 : 1)),
  );
}

const queuedRow = ({ id, workflow_id }: RunRef, at: string, data: string | null): RunRow => ({
  ...{ id, workflow_id, trigger_data: data, status: "running", started_at: at },
  ...{ completed_at: null, error: null, duration_ms: null },
});

const rowOf = (run: RunRef, last: ReturnType<typeof lastRun>, at: string): RunRow =>
  last?.status === "queued" ? queuedRow(run, last.at, last.data) : queuedRow(run, at, null);

/**
 * Ends a step that the end of its run left open: a running step has failed, a step that had not started was skipped.
 */
function endedStep(step: StepRow, error: string, at: string): StepRow {
  if (step.status === "running") return { ...step, status: "failed", error, completed_at: at };
  return step.status === "pending" ? { ...step, status: "skipped" } : step;
}

const endedOf = ({ error, id, status, workflow_id }: RunRow): Ended => ({
  ...{ workflowId: workflow_id, runId: id, threadId: threadIdOf(id), error },
  status: status === "completed" ? "completed" : "failed",
});
