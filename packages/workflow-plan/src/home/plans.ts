import { existsSync } from "node:fs";
import { checkAnswerer } from "@uncaged/workflow/internal";
import { planHash } from "../plan/hash.ts";
import type { Workflow, WorkflowPhase } from "../plan/plan.ts";
import { prefixes, threadIdOf } from "../plan/terms.ts";
import { checkModifiable } from "../planner/workflow.ts";
import { type CheckSandbox, Confirmations } from "../store/confirmations.ts";
import {
  decide,
  decisionOf,
  type DecisionOptions,
  type Wanted,
  wantedBy,
} from "../runs/decisions.ts";
import { Definitions, type OnDamaged, readable, withoutDraft } from "./definitions.ts";
import { removeEndedFolders } from "../runs/folders.ts";
import { databaseIn } from "../store/home.ts";
import { tellingOwners } from "./recovery.ts";
import { isOpen, lastRun, openRuns, type RunRef } from "../store/last-run.ts";
import { phaseError } from "../store/errors.ts";
import { move, settlePhase } from "../store/phase.ts";
import { type Ended, runRowOf, stepRowsOf } from "../runs/projection.ts";
import type { RunRow, StepRow, TriggerState } from "../store/rows.ts";
import {
  type Begun,
  type OnRunError,
  type Recovered,
  type RecoverOptions,
  Runs,
} from "../runs/runs.ts";
import type { RunsOptions } from "../runs/start.ts";
import { credentialsIn, type Secrets, withoutSecrets } from "../secret/secret.ts";
import type { PlanStore } from "../store/store.ts";
import { type PlanPreview, previewOf } from "../preview/preview.ts";
import { checkShown } from "./shown.ts";
import { type Expected, register, settle, triggerStateOf } from "../store/trigger-state.ts";
import { freeName, type PlanVersion, withVersion } from "./version.ts";
import { nothingToCancel, planChanged, removedWhileExecuting } from "./errors.ts";
import { noDecision } from "../runs/errors.ts";

/** Options of {@link Plans}. */
export type PlansOptions = RunsOptions & { check?: CheckSandbox };

/** A plan with its runs, newest first, and its trigger's state. */
export type PlanView = Workflow & {
  runs: (RunRow & { steps: StepRow[] })[];
  trigger_state: TriggerState | null;
};

/** The outcome of confirming, running or retrying a plan; null if no run starts. */
export type Started = {
  workflowId: string;
  phase: WorkflowPhase;
  runId: string | null;
  threadId: string | null;
};

/**
 * The plans of a home, for every process that changes them. Does not cache data of the database. A change of a phase is
 * one transaction. If the current phase does not allow the change, an ExecutorError names both phases.
 */
export class Plans extends Definitions {
  readonly #options: PlansOptions;
  readonly #runs: Runs;
  readonly #confirmations: Confirmations | null;

  constructor(options: PlansOptions, store: PlanStore) {
    super(options, store);
    this.#options = options;
    this.#runs = new Runs(store, options);
    this.#confirmations = store.isShared ? null : Confirmations.of(options);
  }

  /** Whether the home existed or was created. Otherwise there are no plans, and changes are lost. */
  get isKept(): boolean {
    return this.store.isKept;
  }

  /** Tells whether the home exists now, even if another process created it. */
  hasHome(): boolean {
    return existsSync(databaseIn(this.home));
  }

  /** Returns the credentials available to steps, by name. @throws ConfigError */
  credentials(): Secrets {
    return credentialsIn(this.home, this.#options.env);
  }

  /** The command of the agent of new runs, if known. */
  get agentCommand(): string | undefined {
    return this.#options.runOptions?.agentCommand as string | undefined;
  }

  // Reading

  /** Returns all plans, newest first. Passes a damaged plan to `onDamaged` (default: throws). */
  async list(onDamaged?: OnDamaged): Promise<Workflow[]> {
    await this.refresh();
    return this.all(onDamaged);
  }

  /** Returns a plan with its runs and its trigger's state. @throws ExecutorError */
  async show(id: string): Promise<PlanView> {
    const { id: whole } = this.get(id);
    await this.#runs.refresh({ workflowId: whole });
    await this.#runs.projection.complete(whole);
    const runs = this.#runsOf(whole).map((run) => ({
      ...run,
      steps: stepRowsOf(this.database, run.id),
    }));
    return { ...this.get(whole), runs, trigger_state: triggerStateOf(this.database, whole) };
  }

  #runsOf(id: string): RunRow[] {
    return this.database.rows<RunRow>(
      "SELECT * FROM workflow_runs WHERE workflow_id = ? ORDER BY started_at DESC, id DESC",
      id,
    );
  }

  /** Returns the facts that a person needs to confirm a plan. `sandbox` has the facts about the steps' sandbox. */
  preview(workflow: Workflow, sandbox?: readonly string[]): PlanPreview {
    return previewOf(workflow, { secrets: this.credentials(), sandbox, now: Date.parse(this.at) });
  }

  /** Returns the decisions that runs wait for. */
  async wanted(): Promise<Wanted[]> {
    const wanted = openRuns(this.database).map((run) => wantedBy(this.#options.host, run));
    return (await Promise.all(wanted)).flatMap((one) => one ?? []);
  }

  // Phases

  /**
   * Confirms a plan. A manual plan starts its run. Any other plan waits for its trigger. If a plan has a draft, the
   * draft replaces it and the phase stays. A plan whose files, agent or sandbox have changed is confirmed again in its
   * current state.
   *
   * @param planHash the prefix of the hash of the plan that was shown; another plan is not confirmed
   * @throws ExecutorError, ConfigError
   */
  async confirm(id: string, { planHash: shown }: { planHash?: string } = {}): Promise<Started> {
    checkAnswerer(this.#options.host.root);
    const before = this.get(id);
    const draft = this.draft(before.id);
    const workflow = draft ? { ...draft, id: before.id, phase: before.phase } : before;
    const to = before.trigger.type === "manual" ? "executing" : "active";
    const isAgain = !draft && before.phase !== "awaiting_confirmation";
    if (draft) checkModifiable(before);
    else if (isAgain && !(await this.#confirmations?.isOutdated(before, this.#options.check)))
      throw phaseError(before.id, before.phase, to);
    const hash = planHash(workflow);
    if (shown !== undefined) checkShown(before.id, hash, shown);
    const checked = await this.#options.check?.(workflow);
    const found = await this.#confirmations?.found(workflow);
    const keep = ({ hash: bundle }: PlanVersion) =>
      found && this.#confirmations?.keep({ ...found, bundle, sandbox: checked?.mode ?? null });
    if (isAgain) {
      keep(before.metadata?.bundle as PlanVersion);
      await this.#runs.followPhase(before.id);
      return this.#started(before.id, null);
    }
    const run = await withVersion(
      this.#options.host,
      this.store,
      before,
      workflow,
      (bundle, isShared) => {
        const now = this.get(before.id);
        keep(bundle);
        if (draft) return this.#swap(now, before, draft, bundle);
        move(this.database, now.id, ["awaiting_confirmation", to], this.at);
        if (planHash(now) !== hash) throw planChanged(now.id);
        this.#setBundle(now.id, bundle, isShared);
        if (to === "executing") return this.#runs.queue(now.id, null);
        register(this.database, now.id, { trigger: now.trigger, now: this.at });
        return null;
      },
    );
    return await this.#started(before.id, run);
  }

  #setBundle(id: string, bundle: PlanVersion, isShared: boolean): void {
    const shares = isShared && { shares_name: true };
    this.setMetadata(id, (metadata) => ({ ...metadata, bundle, ...shares }));
  }

  #swap(now: Workflow, before: Workflow, draft: Workflow, bundle: PlanVersion): null {
    checkModifiable(now);
    if (planHash(now) !== planHash(before)) throw planChanged(now.id);
    const latest = this.draft(now.id);
    if (latest === null || planHash(latest) !== planHash(draft)) throw planChanged(now.id);
    this.define(now, draft, { bundle });
    this.setMetadata(now.id, withoutDraft);
    const { trigger } = draft;
    if (now.phase === "active")
      register(this.database, now.id, { trigger, was: before.trigger, now: this.at });
    return null;
  }

  /** Starts a queued run, unless too many runs are open. */
  async #started(id: string, run: RunRef | null): Promise<Started> {
    if (run) await this.#runs.start(run.id);
    const { phase } = this.get(id);
    return {
      ...{ workflowId: id, phase },
      ...{ runId: run?.id ?? null, threadId: run && threadIdOf(run.id) },
    };
  }

  /** Runs a plan by hand, regardless of its trigger. @throws ExecutorError */
  async run(id: string, { data }: { data?: string } = {}): Promise<Started> {
    checkAnswerer(this.#options.host.root);
    const given = data === undefined ? null : withoutSecrets(data, this.secrets.all());
    await this.refresh();
    const run = await this.store.change(() => {
      const { id: whole, phase } = this.get(id);
      if (phase !== "completed") move(this.database, whole, ["active", "executing"], this.at);
      return this.#runs.queue(whole, given);
    });
    return await this.#started(run.workflow_id, run);
  }

  /** Repeats the unsuccessful steps of a plan's last run. @throws ExecutorError */
  async retry(id: string): Promise<Started> {
    checkAnswerer(this.#options.host.root);
    await this.refresh();
    await this.#runs.followLast(this.get(id).id);
    const run = await this.store.change(() => {
      const { id: whole } = this.get(id);
      const last = lastRun(this.database, whole);
      move(this.database, whole, ["failed", "executing"], this.at);
      const data = last && runRowOf(this.database, last.id)?.trigger_data;
      const again = this.#runs.queue(whole, data ?? null);
      const retry = { run: again.id, of: last?.id };
      if (last) this.setMetadata(whole, (metadata) => ({ ...metadata, retry }));
      return again;
    });
    return await this.#started(run.workflow_id, run);
  }

  /**
   * Answers the question of a plan's run, by the id of the plan or the run.
   * @throws ExecutorError, and the engine's errors for a refused answer
   */
  async answer(
    id: string,
    decision: string,
    options: DecisionOptions = {},
  ): ReturnType<typeof decide> {
    const known = decisionOf(decision);
    await this.refresh(() => undefined);
    const run = id.startsWith(prefixes.run) ? this.findRun(id) : this.#unfinishedOf(id);
    const { phase } = this.get(run.workflow_id);
    if (phase === "paused") throw phaseError(run.workflow_id, phase, "executing");
    const { env, host } = this.#options;
    return await decide(host, run, known, { ...options, env });
  }

  #unfinishedOf(id: string): RunRef {
    const { id: whole, phase } = this.get(id);
    const last = lastRun(this.database, whole);
    if (last && isOpen(last)) return { id: last.id, workflow_id: whole };
    throw noDecision(whole, phase);
  }

  /** Pauses a plan: its steps do not start and its trigger does not fire. @throws ExecutorError */
  async pause(id: string): Promise<Workflow> {
    const { id: whole } = this.get(id);
    await this.store.change(() => {
      const { phase } = this.get(whole);
      const from = phase === "executing" ? "executing" : "active";
      move(this.database, whole, [from, "paused"], this.at);
    });
    await this.#runs.followPhase(whole);
    return this.get(whole);
  }

  /** Resumes a paused plan. @throws ExecutorError */
  async resume(id: string): Promise<Workflow> {
    const { id: whole } = this.get(id);
    await this.refresh();
    const before = this.get(whole);
    if (before.phase === "paused") await this.#confirmations?.checked(before);
    await this.store.change(() => {
      move(this.database, whole, ["paused", "active"], this.at);
      register(this.database, whole, { trigger: this.get(whole).trigger, now: this.at });
      this.#goOn(whole);
    });
    await this.#runs.followPhase(whole);
    return this.get(whole);
  }

  /** Moves a plan from `active` into its open run, or into the phase after its run if the run has ended. */
  #goOn(id: string): void {
    const { trigger } = this.get(id);
    const last = lastRun(this.database, id);
    if (last === null || (!isOpen(last) && trigger.type !== "manual")) return;
    move(this.database, id, ["active", "executing"], this.at);
    settlePhase(this.database, id, this.at);
  }

  /**
   * Kills the open run of a plan. Without an open run, discards the unconfirmed change or the unconfirmed plan.
   * @throws ExecutorError if none of these exists.
   */
  async cancel(id: string): Promise<{ workflow: Workflow; what: "run" | "change" | "plan" }> {
    const { id: whole, metadata, phase } = this.get(id);
    if (await this.#runs.cancel(whole)) return { workflow: this.get(whole), what: "run" };
    const isChange = metadata?.draft !== undefined;
    if (!isChange && phase !== "awaiting_confirmation") {
      throw nothingToCancel(whole, phase);
    }
    return { workflow: await this.reject(whole), what: isChange ? "change" : "plan" };
  }

  /**
   * Removes a plan with its runs, even if the plan is damaged. The logs of its threads and the versions of its bundle
   * stay. The name of the plan becomes free.
   * @throws ExecutorError if a run is open.
   */
  async remove(id: string): Promise<{ id: string }> {
    const { id: whole } = this.row(id);
    await this.#runs.refresh({ workflowId: whole });
    if (this.row(whole).phase !== "executing") await this.#runs.cancel(whole);
    const row = await this.store.change(() => {
      const last = this.row(whole);
      if (last.phase === "executing") throw removedWhileExecuting(whole);
      this.#runs.projection.remove(whole);
      this.database.run("DELETE FROM trigger_state WHERE workflow_id = ?", whole);
      this.database.run("DELETE FROM workflows WHERE id = ?", whole);
      return last;
    });
    const plan = readable(row, () => undefined);
    await freeName(this.#options.host, this.store, whole, plan?.metadata ?? {});
    this.#confirmations?.remove(whole);
    return { id: whole };
  }

  // Triggers and the service

  /**
   * Fires a trigger: writes the run's row in one transaction with the trigger's state and the phase. Returns null and
   * writes nothing if the plan is not active, or if the basis of the decision has changed.
   */
  async fire(fired: {
    workflowId: string;
    expected: Expected;
    state: Partial<TriggerState>;
    triggerData: string | null;
  }): Promise<Begun | null> {
    const { workflowId, expected, state, triggerData } = fired;
    return await this.store.change(() => {
      if (!settle(this.database, workflowId, expected, state)) return null;
      move(this.database, workflowId, ["active", "executing"], this.at);
      const { id } = this.#runs.queue(workflowId, triggerData);
      return { workflowId, runId: id, threadId: threadIdOf(id) };
    });
  }

  /** Writes a check's result and a notice to the owner, or returns false in the cases of {@link fire}. */
  async settle(
    workflowId: string,
    expected: Expected,
    { notice, state }: { state: Partial<TriggerState>; notice?: string | null },
  ): Promise<boolean> {
    return await this.store.change(() => {
      const isSettled = settle(this.database, workflowId, expected, state);
      if (isSettled && notice) this.setNotice(workflowId, notice);
      return isSettled;
    });
  }

  /** Starts runs without a thread, oldest first, up to the limit of concurrent runs. */
  startQueued(onError?: OnRunError): Promise<Begun[]> {
    return this.#runs.startQueued(onError);
  }

  /** Updates the rows of unfinished runs. Returns the runs whose end this call wrote. */
  refresh = (onError?: OnRunError): Promise<Ended[]> => this.#runs.refresh({ onError });

  /** Recovers from a crash: rows without a thread, threads without a worker, phases of ended runs. */
  async recover(options: RecoverOptions = {}): Promise<Recovered> {
    await removeEndedFolders(this.#options.host, this.database, this.#options.env);
    const notify = (id: string, text: string) => this.notify(id, text);
    return await tellingOwners(notify, options, (telling) => this.#runs.recover(telling));
  }

  /** Rebuilds the rows of all runs from the logs of their threads. */
  rebuild = (): Promise<{ runs: number }> => this.#runs.projection.rebuild();

  /** Tells whether a slot of a cron trigger has fired. After the clock was set back, a slot is due again. */
  hasFired = (id: string, slot: string): Promise<boolean> => this.#runs.hasFired(id, slot);

  close(): void {
    this.store.close();
  }
}
