import { existsSync } from "node:fs";
import { checkAnswerer } from "@uncaged/workflow/internal";
import { ExecutorError } from "../error/error.ts";
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
import { move, phaseError, settlePhase } from "../store/phase.ts";
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
import { changed, checkShown } from "./shown.ts";
import { type Expected, register, settle, triggerStateOf } from "../store/trigger-state.ts";
import { freeName, type PlanVersion, withVersion } from "./version.ts";

/** How the plans of a home are opened. */
export type PlansOptions = RunsOptions & { check?: CheckSandbox };

/** A plan with its runs, newest first, and what its trigger knows. */
export type PlanView = Workflow & {
  runs: (RunRow & { steps: StepRow[] })[];
  trigger_state: TriggerState | null;
};

/** What came of confirming, running or retrying a plan; null where no run begins. */
export type Started = {
  workflowId: string;
  phase: WorkflowPhase;
  runId: string | null;
  threadId: string | null;
};

/**
 * The plans of a home, for every process that acts on them. Nothing of the database is kept in memory; what changes a
 * phase is one transaction, and its refusal an ExecutorError that names both phases.
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

  /** Whether the home was there or was made; else there are no plans, and nothing is kept. */
  get isKept(): boolean {
    return this.store.isKept;
  }

  /** Whether there is a home by now, whoever has made it. */
  hasHome(): boolean {
    return existsSync(databaseIn(this.home));
  }

  /** The credentials that steps can be given, by name. @throws ConfigError */
  credentials(): Secrets {
    return credentialsIn(this.home, this.#options.env);
  }

  /** The command of the agent of the runs that are begun here, if it is known. */
  get agentCommand(): string | undefined {
    return this.#options.runOptions?.agentCommand as string | undefined;
  }

  // Reading

  /** All plans, newest first. Without `onDamaged` one that is damaged is thrown, with it the others are listed. */
  async list(onDamaged?: OnDamaged): Promise<Workflow[]> {
    await this.refresh();
    return this.all(onDamaged);
  }

  /** A plan with its runs and its trigger's state. @throws ExecutorError */
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

  /** What a person who confirms a plan has to know; `sandbox` are the facts of what its steps run in. */
  preview(workflow: Workflow, sandbox?: readonly string[]): PlanPreview {
    return previewOf(workflow, { secrets: this.credentials(), sandbox, now: Date.parse(this.at) });
  }

  /** The decisions that runs wait for. */
  async wanted(): Promise<Wanted[]> {
    const wanted = openRuns(this.database).map((run) => wantedBy(this.#options.host, run));
    return (await Promise.all(wanted)).flatMap((one) => one ?? []);
  }

  // The life of a plan

  /**
   * Confirms a plan: one that runs by hand begins its run, any other waits for its trigger. Of one with a draft that
   * takes its place, and the phase stays. One whose files, agent or sandbox have changed since is confirmed again, as it is.
   *
   * @param planHash the beginning of the hash of the plan that was shown; another plan is not confirmed
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
        if (planHash(now) !== hash) throw changed(now.id);
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
    if (planHash(now) !== planHash(before)) throw changed(now.id);
    const latest = this.draft(now.id);
    if (latest === null || planHash(latest) !== planHash(draft)) throw changed(now.id);
    this.define(now, draft, { bundle });
    this.setMetadata(now.id, withoutDraft);
    const { trigger } = draft;
    if (now.phase === "active")
      register(this.database, now.id, { trigger, was: before.trigger, now: this.at });
    return null;
  }

  /** Starts a run that was queued, unless too many go on. */
  async #started(id: string, run: RunRef | null): Promise<Started> {
    if (run) await this.#runs.start(run.id);
    const { phase } = this.get(id);
    return {
      ...{ workflowId: id, phase },
      ...{ runId: run?.id ?? null, threadId: run && threadIdOf(run.id) },
    };
  }

  /** Runs a plan by hand, whatever its trigger is. @throws ExecutorError */
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

  /** Does again what has not succeeded in a plan's last run. @throws ExecutorError */
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
   * Answers what the run of a plan waits for, by the id of either.
   * @throws ExecutorError, and what the engine refuses an answer with.
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
    throw new ExecutorError(`${whole} is ${phase} and waits for no decision`);
  }

  /** Lets no step of a plan begin any more, and no trigger fire. @throws ExecutorError */
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

  /** Lets a paused plan go on. @throws ExecutorError */
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

  /** From `active`: back into a run that goes on, or to the end of one that has ended meanwhile. */
  #goOn(id: string): void {
    const { trigger } = this.get(id);
    const last = lastRun(this.database, id);
    if (last === null || (!isOpen(last) && trigger.type !== "manual")) return;
    move(this.database, id, ["active", "executing"], this.at);
    settlePhase(this.database, id, this.at);
  }

  /**
   * Kills the run of a plan that goes on; without one it takes back what was to be confirmed, a change or the plan.
   * @throws ExecutorError when there is none of these.
   */
  async cancel(id: string): Promise<{ workflow: Workflow; what: "run" | "change" | "plan" }> {
    const { id: whole, metadata, phase } = this.get(id);
    if (await this.#runs.cancel(whole)) return { workflow: this.get(whole), what: "run" };
    const isChange = metadata?.draft !== undefined;
    if (!isChange && phase !== "awaiting_confirmation") {
      throw new ExecutorError(`${whole} is ${phase} and has no run to cancel`);
    }
    return { workflow: await this.reject(whole), what: isChange ? "change" : "plan" };
  }

  /**
   * Removes a plan with its runs, also a damaged one; the logs of their threads and the versions of its bundle stay, its
   * name is free again. @throws ExecutorError while a run goes on.
   */
  async remove(id: string): Promise<{ id: string }> {
    const { id: whole } = this.row(id);
    await this.#runs.refresh({ workflowId: whole });
    if (this.row(whole).phase !== "executing") await this.#runs.cancel(whole);
    const row = await this.store.change(() => {
      const last = this.row(whole);
      if (last.phase === "executing") {
        const hint = "pause it or cancel it first";
        throw new ExecutorError(`${whole} is executing and can't be removed`, { hint });
      }
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
   * Lets a trigger fire: a row first, in one transaction with the trigger's state and the phase. Null, and nothing is
   * written, when the plan is not active, or is not any more what the decision was made by.
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

  /**
   * Writes what a trigger has found, with a notice to the plan's owner; false, and nothing is written, as with {@link fire}.
   */
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

  /** Starts runs that have no thread yet, oldest first, as many as may run at once. */
  startQueued(onError?: OnRunError): Promise<Begun[]> {
    return this.#runs.startQueued(onError);
  }

  /** Brings what is shown of unfinished runs up to date; gives those that this call has seen ending. */
  refresh = (onError?: OnRunError): Promise<Ended[]> => this.#runs.refresh({ onError });

  /** Takes up what a crash has left behind: rows without a thread, threads without a worker, phases of ended runs. */
  async recover(options: RecoverOptions = {}): Promise<Recovered> {
    await removeEndedFolders(this.#options.host, this.database, this.#options.env);
    const notify = (id: string, text: string) => this.notify(id, text);
    return await tellingOwners(notify, options, (telling) => this.#runs.recover(telling));
  }

  /** Makes the rows of all runs again from the logs of their threads. */
  rebuild = (): Promise<{ runs: number }> => this.#runs.projection.rebuild();

  /** Whether a slot of a cron trigger has fired: after the clock was put back it comes again. */
  hasFired = (id: string, slot: string): Promise<boolean> => this.#runs.hasFired(id, slot);

  close(): void {
    this.store.close();
  }
}
