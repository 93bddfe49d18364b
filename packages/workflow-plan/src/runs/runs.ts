import { type Host, isWorkflowError, isThreadId } from "@uncaged/workflow/host";
import { ulid } from "ulid";
import { ExecutorError } from "../error/error.ts";
import type { WorkflowPhase } from "../plan/plan.ts";
import { runIdOf, threadIdOf } from "../plan/terms.ts";
import { Confirmations } from "../store/confirmations.ts";
import type { PlanDatabase } from "../store/database.ts";
import { withoutFolder } from "./folders.ts";
import { cancelledByUser, type RunRows } from "./projection.ts";
import {
  type Ended,
  failRun,
  isWritten,
  planOf,
  removeOldRuns,
  runRowOf,
  settlePhase,
  stepRowsOf,
  unfinishedOf,
  writeRows,
} from "./projections.ts";
import { type RunRow, type WorkflowRow } from "../store/rows.ts";
import type { PlanStore } from "../store/store.ts";
import { type RunsOptions, startThread } from "./start.ts";
import { findThread, ifMissing, RunReader } from "./thread-log.ts";

/** A run that was started or taken up. */
export type Begun = { workflowId: string; runId: string; threadId: string };

/** Called for a run that can't be looked at, started or resumed; the others are. */
export type OnRunError = (run: Begun, error: unknown) => void;

/** What was taken up of what a crash has left behind. */
export type Recovered = { started: Begun[]; resumed: Begun[]; ended: Ended[] };
export type RecoverOptions = {
  /** Called for each run that was interrupted, before it is resumed. */
  onInterrupted?: (run: Begun) => void | Promise<void>;
  onError?: OnRunError;
  /** Threads that were paused so that a service could end: they go on too. */
  drained?: readonly string[];
};

const defaultMaxRuns = 5;
const longestWaitMs = 30_000;
/** How many runs of a plan that have ended are kept where each process reads the rows of all. */
const mostSharedRuns = 100;
const logIsGone = "the log of its thread is gone";

/** The errors of a start that would come again and again. */
const finalCodes: readonly string[] = [
  ...["BAD_OPTION", "BUNDLE_CHANGED", "BUNDLE_LOAD_FAILED", "BUNDLE_MISSING", "BUNDLE_REFUSED"],
  ...["THREAD_NOT_FOUND", "WORKFLOW_NOT_FOUND", ExecutorError.ownCode],
];

/**
 * The runs of all plans of a home: rows first, then threads.
 *
 * - **R1** A run is a row with the id of its thread before there is a thread, so whoever finds the row without one
 *   starts it, and a thread starts once by its id. It is queued while it has no step runs.
 * - **R2** Threads are started under one lock, with the row and the phase read again. So `maxRuns` holds for all
 *   processes together, and what was cancelled or paused before is not started.
 * - **R3** The log of a thread is the truth about its run; rows follow it until the run has ended.
 * - **R4** A thread is paused and resumed under the same lock, by the phase as it is then: of two changes of a phase at
 *   once the later one holds.
 * - **R5** What fails for one run keeps no other from being looked at, started or resumed.
 */
export class Runs {
  readonly #store: PlanStore;
  readonly #options: RunsOptions;
  readonly #reader: RunReader;
  readonly #confirmations: Confirmations | null;

  constructor(store: PlanStore, options: RunsOptions) {
    this.#store = store;
    this.#options = options;
    this.#reader = new RunReader(options.host);
    this.#confirmations = store.isShared ? null : Confirmations.of(options);
  }

  get #database(): PlanDatabase {
    return this.#store.database;
  }

  get #at(): string {
    return new Date(this.#now).toISOString();
  }

  get #now(): number {
    return (this.#options.now ?? Date.now)();
  }

  /** Adds a run's row, in the transaction of the caller. @throws ExecutorError when another run goes on. */
  queue(workflowId: string, triggerData: string | null): RunRow {
    const other = unfinishedOf(this.#database, workflowId);
    if (other) {
      throw new ExecutorError(`${workflowId} has a run that goes on: ${other.id}`, {
        hint: `wait for it, or cancel it: uncaged-workflow plan cancel ${workflowId}`,
      });
    }
    if (this.#store.isShared) removeOldRuns(this.#database, workflowId, mostSharedRuns);
    const id = runIdOf(ulid(this.#now));
    this.#database.run(
      "INSERT INTO workflow_runs (id, workflow_id, trigger_data, status, started_at) VALUES (?, ?, ?, 'running', ?)",
      ...[id, workflowId, triggerData, this.#at],
    );
    return runRowOf(this.#database, id) as RunRow;
  }

  /** Starts runs that have no thread, oldest first, as many as may run. One that can't be started stays queued. */
  async startQueued(onError: OnRunError = () => undefined): Promise<Begun[]> {
    const begun: Begun[] = [];
    await each(this.#queued(), onError, async (row) => {
      if (await this.start(row.id)) begun.push(begunOf(row));
    });
    return begun;
  }

  /** Starts a run that is queued; false when it may not begin now. */
  start(runId: string): Promise<boolean> {
    return this.#locked(() => this.#start(runId));
  }

  /** Does something while no process starts a thread. */
  async #locked<Result>(act: () => Promise<Result>): Promise<Result> {
    const late = Date.now() + longestWaitMs;
    const lock = await this.#store.lock("runs", () => {
      if (Date.now() < late) return;
      const { home } = this.#options;
      throw new ExecutorError(`another process has been starting runs for a long time: ${home}`, {
        hint: "try again; the run is queued, and nothing is lost",
      });
    });
    try {
      await this.#store.sync();
      return await act();
    } finally {
      await lock.release();
    }
  }

  #queued(): RunRow[] {
    return this.#database.rows<RunRow>(
      `SELECT r.* FROM workflow_runs r JOIN workflows w ON w.id = r.workflow_id
        WHERE r.status = 'running' AND w.phase <> 'paused'
        AND NOT EXISTS (SELECT 1 FROM step_runs s WHERE s.run_id = r.id)
        ORDER BY r.started_at, r.rowid`,
    );
  }

  /** Starts the thread of a row, if that is still wanted and there is room (R2). */
  async #start(runId: string): Promise<boolean> {
    const row = this.#queued().find(({ id }) => id === runId);
    if (!row) return false;
    const { host } = this.#options;
    const there = await findThread(host, threadIdOf(runId));
    if (there) {
      await this.#project(row);
      return false;
    }
    if (!(await this.#hasRoom())) return false;
    const workflow = planOf(this.#database, row.workflow_id);
    if (workflow === null) return false;
    try {
      await startThread(this.#options, this.#confirmations, this.#store, workflow, row);
    } catch (error) {
      if (isWorkflowError(error) && finalCodes.includes(error.code))
        await this.#fail(runId, error.message);
      throw error;
    }
    await this.#project(row);
    return true;
  }

  async #hasRoom(): Promise<boolean> {
    const { host, maxRuns = defaultMaxRuns } = this.#options;
    const own = new Set(this.#unfinished().map(({ id }) => threadIdOf(id)));
    if (own.size <= maxRuns) return true;
    const live = (await host.live()).filter(({ status, threadId }) => {
      return status === "running" && own.has(threadId);
    });
    return live.length < maxRuns;
  }

  #unfinished(): RunRow[] {
    return this.#database.rows<RunRow>(
      "SELECT * FROM workflow_runs WHERE status = 'running' ORDER BY started_at, id",
    );
  }

  #phaseOf(id: string): WorkflowPhase | null {
    const statement = "SELECT phase FROM workflows WHERE id = ?";
    return this.#database.rows<Pick<WorkflowRow, "phase">>(statement, id)[0]?.phase ?? null;
  }

  /** Brings the rows of unfinished runs up to date, of all plans or of one; gives those that this call has seen ending. */
  async refresh({
    onError,
    workflowId,
  }: {
    onError?: OnRunError;
    workflowId?: string;
  } = {}): Promise<Ended[]> {
    await this.#store.sync();
    const ended: Ended[] = [];
    const rows = this.#unfinished().filter(
      (row) => (workflowId ?? row.workflow_id) === row.workflow_id,
    );
    await each(rows, onError, async (row) => {
      const one = await this.#project(row);
      if (one) ended.push(one);
      else await this.#holdPaused(row);
    });
    await this.#settle();
    return ended;
  }

  /** Pauses the thread of a paused plan again, which was woken by someone who knows nothing of plans. */
  async #holdPaused({ id, workflow_id }: RunRow): Promise<void> {
    if (!this.#isPaused(workflow_id)) return;
    const ref = await findThread(this.#options.host, threadIdOf(id));
    const row = ref && (await this.#options.host.row(ref));
    if (row?.status === "running") await this.followPhase(workflow_id);
  }

  /** Sets phases right whose run has ended without anyone's writing it. */
  async #settle(): Promise<void> {
    const stray = this.#database.rows<{ id: string }>(
      `SELECT id FROM workflows w WHERE phase = 'executing' AND NOT EXISTS
        (SELECT 1 FROM workflow_runs r WHERE r.workflow_id = w.id AND r.status = 'running')`,
    );
    for (const { id } of stray)
      await this.#store.change(() => settlePhase(this.#database, id, this.#at));
  }

  async #project(row: RunRow): Promise<Ended | null> {
    const rows = await this.#reader.next(row.id, () => planOf(this.#database, row.workflow_id));
    const { env } = this.#options;
    if (rows === "same") return null;
    if (rows) return withoutFolder(await this.#write(rows), env);
    const hasBegun = stepRowsOf(this.#database, row.id).length > 0;
    // The row of another program has no thread and never gets one.
    const isForeign = !isThreadId(threadIdOf(row.id));
    if (!hasBegun && !isForeign) return null;
    return withoutFolder(await this.#fail(row.id, logIsGone), env);
  }

  #fail(runId: string, error: string): Promise<Ended | null> {
    return this.#store.change(() => failRun(this.#database, runId, error, this.#at));
  }

  async #write(rows: RunRows): Promise<Ended | null> {
    if (isWritten(this.#database, rows)) return null;
    try {
      return await this.#store.change(() => writeRows(this.#database, rows, this.#at));
    } catch (error) {
      this.#reader.forget(rows.run.id);
      throw error;
    }
  }

  /** Lets no step of a paused plan's run begin any more, or that of any other one go on (R4); true when it was resumed. */
  followPhase(workflowId: string): Promise<boolean> {
    return this.#locked(async () => {
      const row = unfinishedOf(this.#database, workflowId);
      if (!row) return false;
      if (this.#isPaused(workflowId)) await this.#control(workflowId, { kind: "pause" });
      else if (stepRowsOf(this.#database, row.id).length === 0) await this.#start(row.id);
      else return await this.#resumeThread(row);
      return false;
    });
  }

  #isPaused(workflowId: string): boolean {
    return this.#phaseOf(workflowId) === "paused";
  }

  /** Resumes a thread that is paused, is about to be, or has lost its worker; false for one in any other state. */
  async #resumeThread({ id, workflow_id }: RunRow): Promise<boolean> {
    const { env, host } = this.#options;
    const ref = await findThread(host, threadIdOf(id));
    if (!ref) return false;
    const status = (await host.row(ref))?.status;
    if (status !== "paused" && status !== "interrupted" && status !== "running") return false;
    const workflow = planOf(this.#database, workflow_id);
    if (workflow) await this.#confirmations?.checked(workflow);
    try {
      await host.control(ref, { kind: "resume", env });
      return true;
    } catch (error) {
      if (isWorkflowError(error) && settledCodes.includes(error.code)) return false;
      throw error;
    }
  }

  /** Ends the run of a plan. False when none goes on, or it has ended otherwise meanwhile. */
  async cancel(workflowId: string): Promise<boolean> {
    const row = unfinishedOf(this.#database, workflowId);
    if (!row) return false;
    return await this.#locked(async () => {
      const { env } = this.#options;
      await this.#control(workflowId, { kind: "kill", force: true, env });
      await this.#project(row);
      await this.#fail(row.id, cancelledByUser);
      // Another process may have written that it was killed.
      return runRowOf(this.#database, row.id)?.error === cancelledByUser;
    });
  }

  /** Does something to the thread of a plan's run, if there is one that goes on. */
  async #control(workflowId: string, command: Parameters<Host["control"]>[1]): Promise<void> {
    const { host } = this.#options;
    const row = unfinishedOf(this.#database, workflowId);
    const ref = row && (await findThread(host, threadIdOf(row.id)));
    if (!ref) return;
    try {
      await host.control(ref, command);
    } catch (error) {
      if (!isWorkflowError(error) || !settledCodes.includes(error.code)) ifMissing(error);
    }
  }

  /** Takes up what a crash has left behind: rows without a thread, and threads without a worker. */
  async recover({ drained = [], onError, onInterrupted }: RecoverOptions): Promise<Recovered> {
    const ended = await this.refresh({ onError });
    const resumed: Begun[] = [];
    await each(this.#unfinished(), onError, async (row) => {
      const phase = this.#phaseOf(row.workflow_id);
      if (phase !== "executing" && phase !== "completed") return;
      const isInterrupted = await this.#isInterrupted(row);
      if (!isInterrupted && !drained.includes(threadIdOf(row.id))) return;
      if (isInterrupted) await onInterrupted?.(begunOf(row));
      if (await this.followPhase(row.workflow_id)) resumed.push(begunOf(row));
    });
    return { started: await this.startQueued(onError), resumed, ended };
  }

  async #isInterrupted({ id }: RunRow): Promise<boolean> {
    const { host } = this.#options;
    const ref = await findThread(host, threadIdOf(id));
    return ref !== null && (await host.row(ref))?.status === "interrupted";
  }
}

/** What a command is refused with when the thread is already where it was to be brought. */
const settledCodes: readonly string[] = [
  ...["ALREADY_RUNNING", "LOG_CORRUPT", "NOT_PAUSED", "NOT_RUNNING", "THREAD_ENDED"],
];

/** Does something for each run. @throws the first error, when all others are done, unless somebody takes them. */
async function each(
  rows: readonly RunRow[],
  onError: OnRunError | undefined,
  act: (row: RunRow) => Promise<unknown>,
): Promise<void> {
  const errors: unknown[] = [];
  for (const row of rows) {
    try {
      await act(row);
    } catch (error) {
      if (onError) onError(begunOf(row), error);
      else errors.push(error);
    }
  }
  if (errors.length > 0) throw errors[0];
}

const begunOf = ({ id, workflow_id }: RunRow): Begun => ({
  ...{ workflowId: workflow_id, runId: id, threadId: threadIdOf(id) },
});
