import { type Host, isWorkflowError } from "@uncaged/workflow/host";
import { ulid } from "ulid";
import { ExecutorError } from "../error/error.ts";
import type { WorkflowPhase } from "../plan/plan.ts";
import { cancelledByUser, isCancelled, runIdOf, threadIdOf } from "../plan/terms.ts";
import { Confirmations } from "../store/confirmations.ts";
import type { PlanDatabase } from "../store/database.ts";
import {
  isOpen,
  lastRun,
  openRuns,
  type OpenRun,
  type RunRef,
  setLastRun,
} from "../store/last-run.ts";
import { settlePhase } from "../store/phase.ts";
import type { WorkflowRow } from "../store/rows.ts";
import type { PlanStore } from "../store/store.ts";
import { triggerStateOf } from "../store/trigger-state.ts";
import { withoutFolder } from "./folders.ts";
import { type Ended, planOf, Projection, runRowOf } from "./projection.ts";
import { type RunsOptions, startThread } from "./start.ts";
import { findThread, ifMissing } from "./thread-log.ts";
import { otherRun, startsLocked } from "./errors.ts";

/** A run that was started or resumed. */
export type Begun = { workflowId: string; runId: string; threadId: string };

/** Called for a run whose check, start or resume failed. The other runs continue. */
export type OnRunError = (run: Begun, error: unknown) => void;

/** The result of a recovery after a crash. */
export type Recovered = { started: Begun[]; resumed: Begun[]; ended: Ended[] };
export type RecoverOptions = {
  /** Called for each interrupted run before it resumes. */
  onInterrupted?: (run: Begun) => void | Promise<void>;
  onError?: OnRunError;
  /** The threads that a service paused before its end. They are resumed too. */
  drained?: readonly string[];
};

const defaultMaxRuns = 5;
const longestWaitMs = 30_000;
/** Maximum number of kept ended runs of a plan in shared rows, because each process reads all shared rows. */
const mostSharedRuns = 100;

/** The errors of a start for which a retry is useless. */
const finalCodes: readonly string[] = [
  ...["BAD_OPTION", "BUNDLE_CHANGED", "BUNDLE_LOAD_FAILED", "BUNDLE_MISSING", "BUNDLE_REFUSED"],
  ...["THREAD_NOT_FOUND", "WORKFLOW_NOT_FOUND", ExecutorError.ownCode],
];

/**
 * The runs of all plans of a home, as threads. {@link Projection} writes their rows.
 *
 * - **R1** A run is queued in its plan's metadata, with the id of its thread, before the thread exists. Any process
 *   that finds a queued run starts it, and a thread starts once by its id.
 * - **R2** Threads are started under one lock, with the run and the phase read again. So `maxRuns` applies to all
 *   processes together, and a cancelled or paused run is not started.
 * - **R3** The log of a thread is the truth about its run.
 * - **R4** A thread is paused and resumed under the same lock, by the phase at that time: the later of two concurrent
 *   changes of a phase wins.
 * - **R5** An error of one run does not stop other runs from being followed, started or resumed.
 */
export class Runs {
  readonly projection: Projection;
  readonly #store: PlanStore;
  readonly #options: RunsOptions;
  readonly #confirmations: Confirmations | null;

  constructor(store: PlanStore, options: RunsOptions) {
    this.projection = new Projection(store, options.host, () => this.#at);
    this.#store = store;
    this.#options = options;
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

  /**
   * Queues a run, in the caller's transaction.
   * @throws ExecutorError if another run is open.
   */
  queue(workflowId: string, triggerData: string | null): RunRef {
    const other = lastRun(this.#database, workflowId);
    if (other && isOpen(other)) throw otherRun(workflowId, other.id);
    if (this.#store.isShared) this.projection.remove(workflowId, mostSharedRuns);
    const run = { id: runIdOf(ulid(this.#now)), workflow_id: workflowId };
    // The row contains the same text.
    const data = triggerData?.toWellFormed() ?? null;
    setLastRun(this.#database, workflowId, { id: run.id, status: "queued", at: this.#at, data });
    this.projection.queue(run, this.#at, data);
    return run;
  }

  /** Starts runs without a thread, oldest first, up to the limit. A run whose start fails stays queued. */
  async startQueued(onError: OnRunError = () => undefined): Promise<Begun[]> {
    const begun: Begun[] = [];
    await each(this.#queued(), onError, async (run) => {
      if (await this.start(run.id)) begun.push(begunOf(run));
    });
    return begun;
  }

  /** Starts a queued run. Returns false if the limit or its phase forbids it. */
  start(runId: string): Promise<boolean> {
    return this.#locked(() => this.#start(runId));
  }

  /** Runs `act` under the lock for starting threads. */
  async #locked<Result>(act: () => Promise<Result>): Promise<Result> {
    const late = Date.now() + longestWaitMs;
    const lock = await this.#store.lock("runs", () => {
      if (Date.now() < late) return;
      throw startsLocked(this.#options.home);
    });
    try {
      await this.#store.sync();
      return await act();
    } finally {
      await lock.release();
    }
  }

  #queued(): OpenRun[] {
    return openRuns(this.#database).filter(
      ({ run, workflow_id }) => run.status === "queued" && !this.#isPaused(workflow_id),
    );
  }

  /** Starts the thread of a queued run if the limit and the phase allow it (R2). */
  async #start(runId: string): Promise<boolean> {
    const queued = this.#queued().find(({ id }) => id === runId);
    if (queued?.run.status !== "queued") return false;
    const there = await findThread(this.#options.host, threadIdOf(runId));
    if (there) {
      await this.#follow(queued);
      return false;
    }
    if (!(await this.#hasRoom())) return false;
    const workflow = planOf(this.#database, queued.workflow_id);
    if (workflow === null) return false;
    const { data } = queued.run;
    try {
      const run = { id: runId, trigger_data: data };
      await startThread(this.#options, this.#confirmations, this.#store, workflow, run);
    } catch (error) {
      if (isWorkflowError(error) && finalCodes.includes(error.code))
        await this.projection.end(queued, error.message);
      throw error;
    }
    await this.#follow(queued);
    return true;
  }

  async #hasRoom(): Promise<boolean> {
    const { host, maxRuns = defaultMaxRuns } = this.#options;
    const own = new Set(openRuns(this.#database).map(({ id }) => threadIdOf(id)));
    if (own.size <= maxRuns) return true;
    const live = (await host.live()).filter(({ status, threadId }) => {
      return status === "running" && own.has(threadId);
    });
    return live.length < maxRuns;
  }

  #phaseOf(id: string): WorkflowPhase | null {
    const statement = "SELECT phase FROM workflows WHERE id = ?";
    return this.#database.rows<Pick<WorkflowRow, "phase">>(statement, id)[0]?.phase ?? null;
  }

  #openRun(workflowId: string): OpenRun | null {
    const run = lastRun(this.#database, workflowId);
    return run && isOpen(run) ? { id: run.id, workflow_id: workflowId, run } : null;
  }

  /** Updates the rows of unfinished runs, of all plans or of one. Returns the runs whose end this call wrote. */
  async refresh({
    onError,
    workflowId,
  }: {
    onError?: OnRunError;
    workflowId?: string;
  } = {}): Promise<Ended[]> {
    await this.#store.sync();
    const ended: Ended[] = [];
    const runs = this.projection
      .unfinished()
      .filter((run) => (workflowId ?? run.workflow_id) === run.workflow_id);
    await each(runs, onError, async (run) => {
      const one = await this.#follow(run);
      if (one) ended.push(one);
      else await this.#holdPaused(run);
    });
    await this.#settle();
    return ended;
  }

  async #follow(run: RunRef): Promise<Ended | null> {
    return withoutFolder(await this.projection.follow(run), this.#options.env);
  }

  /** Updates the rows of a plan's newest run, open or not. */
  async followLast(workflowId: string): Promise<void> {
    const last = lastRun(this.#database, workflowId);
    if (last) await this.#follow({ id: last.id, workflow_id: workflowId });
  }

  /**
   * Tells whether a slot of a cron trigger has fired. A slot after the last fired slot has not. For an earlier slot
   * without a row, reads the logs.
   */
  async hasFired(workflowId: string, slot: string): Promise<boolean> {
    const { last_fire_at } = triggerStateOf(this.#database, workflowId) ?? {};
    if (!last_fire_at || slot > last_fire_at) return false;
    if (this.projection.hasRunOf(workflowId, slot)) return true;
    await this.projection.rebuild(workflowId);
    return this.projection.hasRunOf(workflowId, slot);
  }

  /** Pauses the thread of a paused plan again after a program without plan support resumed it. */
  async #holdPaused({ id, workflow_id }: RunRef): Promise<void> {
    if (!this.#isPaused(workflow_id)) return;
    const ref = await findThread(this.#options.host, threadIdOf(id));
    const row = ref && (await this.#options.host.row(ref));
    if (row?.status === "running") await this.followPhase(workflow_id);
  }

  /** Corrects the phases of plans whose run ended without a change of the phase. */
  async #settle(): Promise<void> {
    const executing = this.#database.rows<{ id: string }>(
      "SELECT id FROM workflows WHERE phase = 'executing'",
    );
    for (const { id } of executing) {
      if (this.#openRun(id) === null)
        await this.#store.change(() => settlePhase(this.#database, id, this.#at));
    }
  }

  /**
   * Pauses the open run of a paused plan between steps; resumes the open run of any other plan (R4). Returns true if a
   * run was resumed.
   */
  followPhase(workflowId: string): Promise<boolean> {
    return this.#locked(async () => {
      const open = this.#openRun(workflowId);
      if (!open) return false;
      if (this.#isPaused(workflowId)) await this.#control(open, { kind: "pause" });
      else if (open.run.status === "queued") await this.#start(open.id);
      else return await this.#resumeThread(open);
      return false;
    });
  }

  #isPaused(workflowId: string): boolean {
    return this.#phaseOf(workflowId) === "paused";
  }

  /**
   * Resumes a thread that is paused or pausing, or has lost its worker. Returns false for a thread in another state.
   */
  async #resumeThread({ id, workflow_id }: RunRef): Promise<boolean> {
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

  /** Ends the run of a plan. Returns false without an open run, or if the run had already ended. */
  async cancel(workflowId: string): Promise<boolean> {
    const open = this.#openRun(workflowId);
    if (!open) return false;
    return await this.#locked(async () => {
      const { env } = this.#options;
      await this.#control(open, { kind: "kill", force: true, env });
      await this.#follow(open);
      await this.projection.end(open, cancelledByUser);
      // Another process may have written the row of the kill.
      const row = runRowOf(this.#database, open.id);
      return row !== null && isCancelled(row);
    });
  }

  /** Sends a command to the thread of an open run. */
  async #control({ id }: RunRef, command: Parameters<Host["control"]>[1]): Promise<void> {
    const { host } = this.#options;
    const ref = await findThread(host, threadIdOf(id));
    if (!ref) return;
    try {
      await host.control(ref, command);
    } catch (error) {
      if (!isWorkflowError(error) || !settledCodes.includes(error.code)) ifMissing(error);
    }
  }

  /** Recovers from a crash: queued runs without a thread, and threads without a worker. */
  async recover({ drained = [], onError, onInterrupted }: RecoverOptions): Promise<Recovered> {
    const ended = await this.refresh({ onError });
    const resumed: Begun[] = [];
    await each(openRuns(this.#database), onError, async (run) => {
      const phase = this.#phaseOf(run.workflow_id);
      if (phase !== "executing" && phase !== "completed") return;
      const isInterrupted = await this.#isInterrupted(run);
      if (!isInterrupted && !drained.includes(threadIdOf(run.id))) return;
      if (isInterrupted) await onInterrupted?.(begunOf(run));
      if (await this.followPhase(run.workflow_id)) resumed.push(begunOf(run));
    });
    return { started: await this.startQueued(onError), resumed, ended };
  }

  async #isInterrupted({ id }: RunRef): Promise<boolean> {
    const { host } = this.#options;
    const ref = await findThread(host, threadIdOf(id));
    return ref !== null && (await host.row(ref))?.status === "interrupted";
  }
}

/** The errors of a command whose thread is already in the requested state. */
const settledCodes: readonly string[] = [
  ...["ALREADY_RUNNING", "LOG_CORRUPT", "NOT_PAUSED", "NOT_RUNNING", "THREAD_ENDED"],
];

/**
 * Runs `act` for each run. Passes errors to `onError`. Without `onError`, throws the first error after all other runs
 * are done.
 */
async function each<Run extends RunRef>(
  runs: readonly Run[],
  onError: OnRunError | undefined,
  act: (run: Run) => Promise<unknown>,
): Promise<void> {
  const errors: unknown[] = [];
  for (const run of runs) {
    try {
      await act(run);
    } catch (error) {
      if (onError) onError(begunOf(run), error);
      else errors.push(error);
    }
  }
  if (errors.length > 0) throw errors[0];
}

const begunOf = ({ id, workflow_id }: RunRef): Begun => ({
  ...{ workflowId: workflow_id, runId: id, threadId: threadIdOf(id) },
});
