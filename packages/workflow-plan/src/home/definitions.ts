import { foundProblems } from "@uncaged/workflow/interpreter";
import { isWorkflowError } from "@uncaged/workflow";
import { join } from "node:path";
import { checkPlan, metadataProblems } from "../check/check.ts";
import type { ExecutorError } from "../error/error.ts";
import { planHash } from "../plan/hash.ts";
import { ownMetadata, replacedMetadata } from "../plan/metadata.ts";
import type { PlanMetadata, Workflow } from "../plan/plan.ts";
import { prefixes } from "../plan/terms.ts";
import { newSession, SessionFiles } from "../planner/session.ts";
import { checkModifiable } from "../planner/workflow.ts";
import type { PlanDatabase } from "../store/database.ts";
import { nextDue, triggerText } from "../preview/preview.ts";
import { lastRunOf } from "../runs/projection.ts";
import { triggerStateOf } from "../store/trigger-state.ts";
import { withNotice } from "./notice.ts";
import { checkShown } from "./shown.ts";
import { planStamps } from "./stamps.ts";
import { move } from "../store/phase.ts";
import { type RunRow, rowOf, type WorkflowRow, workflowOf } from "../store/rows.ts";
import { SecretFile } from "./secrets.ts";
import type { PlanStore } from "../store/store.ts";
import { invalidPlan } from "../planner/errors.ts";
import { ambiguousId, noRun, planExists } from "./errors.ts";
import { noPlan, phaseError } from "../store/errors.ts";

/** A plan's entry in a list. */
export type PlanSummary = {
  trigger_text: string;
  next_fire_at: string | null;
  last_fire_at: string | null;
  last_run: RunRow | null;
};

/** Called with the id of an unreadable plan and the error that names the damaged part. */
export type OnDamaged = (id: string, error: unknown) => void;

const thrown: OnDamaged = (_id, error) => {
  throw error;
};

/** Returns the plan in a row, or null if the row is damaged. */
export function readable(row: WorkflowRow, onDamaged: OnDamaged): Workflow | null {
  try {
    return workflowOf(row);
  } catch (error) {
    onDamaged(row.id, error);
    return null;
  }
}

/** The definitions of plans: the rows of `workflows`, and the drafts in planner sessions that may become rows. */
export class Definitions {
  readonly home: string;
  /** The folder of planner sessions. */
  readonly folder: string;
  readonly store: PlanStore;
  readonly secrets: SecretFile;
  readonly #sessions: SessionFiles;
  readonly #now: () => number;

  constructor({ home, now = Date.now }: { home: string; now?: () => number }, store: PlanStore) {
    this.home = home;
    this.folder = join(home, "planner");
    this.store = store;
    this.secrets = new SecretFile(home);
    this.#sessions = new SessionFiles(this.folder);
    this.#now = now;
  }

  /** The database of plans and runs. */
  get database(): PlanDatabase {
    return this.store.database;
  }

  /** Loads the commits of other processes into the database. */
  sync(): Promise<void> {
    return this.store.sync();
  }

  /** The current time in a row's format. */
  protected get at(): string {
    return new Date(this.#now()).toISOString();
  }

  /**
   * Returns the plan with an id or a unique prefix of it.
   * @throws ExecutorError, also for a damaged row.
   */
  get(id: string): Workflow {
    return workflowOf(this.row(id));
  }

  /** Returns all plans, newest first. Passes damaged plans to `onDamaged` (default: throws). */
  protected all(onDamaged: OnDamaged = thrown): Workflow[] {
    return this.database
      .rows<WorkflowRow>("SELECT * FROM workflows ORDER BY created_at DESC, id DESC")
      .flatMap((row) => readable(row, onDamaged) ?? []);
  }

  /** Returns the row of {@link get}. @throws ExecutorError */
  protected row(id: string): WorkflowRow {
    const [found, ...others] = this.#find("workflows", id, prefixes.plan);
    if (found && others.length === 0) return found as WorkflowRow;
    throw found ? ambiguous(id, [found, ...others]) : noPlan(id);
  }

  /**
   * Returns the run with an id or a unique prefix of it.
   * @throws ExecutorError
   */
  findRun(id: string): RunRow {
    const [found, ...others] = this.#find("workflow_runs", id, prefixes.run);
    if (found && others.length === 0) return found as RunRow;
    throw found ? ambiguous(id, [found, ...others]) : noRun(id);
  }

  #find(table: "workflows" | "workflow_runs", id: string, prefix: string): { id: string }[] {
    const whole = `SELECT * FROM ${table} WHERE id = ?`;
    const [only] = this.database.rows<{ id: string }>(whole, id);
    if (only) return [only];
    const from = id.startsWith(prefix) ? id : `${prefix}${id}`;
    if (id === "" || id === prefix) return [];
    return this.database.rows<{ id: string }>(
      `SELECT * FROM ${table} WHERE id >= ? AND id < ? ORDER BY id LIMIT 6`,
      ...[from, `${from}\u{10FFFF}`],
    );
  }

  /**
   * Adds a plan that a planner made.
   * @throws PlannerError, ExecutorError
   */
  async create(given: Workflow): Promise<Workflow> {
    const { metadata, ...plan } = given;
    const own = metadata && { metadata: ownMetadata(metadata) };
    const workflow = checked(this.#masked({ ...plan, ...own }));
    const { id, phase } = workflow;
    if (phase !== "planning" && phase !== "awaiting_confirmation")
      throw phaseError(id, "planning", phase);
    return await this.store.change(() => {
      if (this.#find("workflows", id, "")[0]?.id === id) throw planExists(id);
      this.#insert(workflow);
      return this.get(id);
    });
  }

  /**
   * Removes the values of stored secrets from a plan. The planner and its caller may not know them.
   * @throws ConfigError
   */
  #masked(workflow: Workflow): Workflow {
    const { description, name, steps, trigger } = workflow;
    return { ...workflow, ...this.secrets.masked({ description, name, steps, trigger }) };
  }

  #insert(workflow: Workflow): void {
    const row = rowOf(workflow);
    const columns = Object.keys(row);
    this.database.run(
      `INSERT INTO workflows (${columns.join(", ")}) VALUES (${columns.map((one) => `$${one}`).join(", ")})`,
      row,
    );
  }

  /**
   * Stores a changed plan. If the plan was confirmed, the changed plan stays a draft until it is
   * confirmed. The draft is stored in the given planner session, or in a new session.
   *
   * @param planHash the prefix of the hash of the plan, or of its draft, that was changed; another one is not replaced
   * @throws PlannerError, ExecutorError
   */
  async replace(
    given: Workflow,
    { session, planHash: shown }: { session?: string; planHash?: string } = {},
  ): Promise<Workflow> {
    const workflow = checked(this.#masked(given));
    return await this.store.change(() => {
      const before = this.get(workflow.id);
      const { id, phase } = before;
      checkModifiable(before);
      if (shown !== undefined) checkShown(id, planHash(this.draft(id) ?? before), shown);
      if (phase !== "planning" && phase !== "awaiting_confirmation") {
        const draft = { session: session ?? this.#keepDraft({ ...workflow, phase }) };
        return this.setMetadata(id, (metadata) => ({ ...metadata, draft }));
      }
      if (phase === "awaiting_confirmation")
        move(this.database, id, ["awaiting_confirmation", "planning"], this.at);
      this.define(before, workflow);
      move(this.database, id, ["planning", "awaiting_confirmation"], this.at);
      return this.get(id);
    });
  }

  #keepDraft(workflow: Workflow): string {
    const session = newSession(workflow);
    this.#sessions.write({ ...session, status: "plan_ready" });
    return session.id;
  }

  /** Writes a definition and keeps the plan's learned metadata. */
  protected define(before: Workflow, workflow: Workflow, learned: PlanMetadata = {}): void {
    const metadata = { ...replacedMetadata(before.metadata, workflow.metadata), ...learned };
    const row = rowOf({ ...workflow, metadata });
    this.database.run(
      `UPDATE workflows SET name = ?, description = ?, trigger_json = ?, steps_json = ?,
        failure_policy_json = ?, metadata_json = ?, updated_at = ? WHERE id = ?`,
      ...[row.name, row.description, row.trigger_json, row.steps_json],
      ...[row.failure_policy_json, row.metadata_json, this.at, before.id],
    );
  }

  /**
   * Returns the draft that the plan's next confirmation applies, or null without a draft.
   * @throws PlannerError
   */
  draft(id: string): Workflow | null {
    const { metadata } = this.get(id);
    const { session } = (metadata?.draft ?? {}) as { session?: string };
    if (session === undefined) return null;
    try {
      const { status, workflow } = this.#sessions.read(session);
      return status === "cancelled" ? null : workflow;
    } catch (error) {
      // The session and its draft were removed.
      if (isWorkflowError(error) && error.kind === "missing") return null;
      throw error;
    }
  }

  /** Returns the open runs of all plans or of one plan. With `since`, also returns the runs that ended since then. */
  runs({ since, workflowId }: { since?: string; workflowId?: string } = {}): RunRow[] {
    return this.database.rows<RunRow>(
      `SELECT * FROM workflow_runs WHERE (status = 'running' OR completed_at >= $since)
        AND ($workflowId IS NULL OR workflow_id = $workflowId) ORDER BY started_at, id`,
      { since: since ?? null, workflowId: workflowId ?? null },
    );
  }

  /** Returns a plan's next due time, its last fire and its newest run, for lists. */
  summary(workflow: Workflow): PlanSummary {
    const state = triggerStateOf(this.database, workflow.id);
    return {
      trigger_text: triggerText(workflow.trigger),
      next_fire_at: nextDue(workflow, state),
      last_fire_at: state?.last_fire_at ?? null,
      last_run: lastRunOf(this.database, workflow.id),
    };
  }

  /** Tells whether any confirmed plan has a trigger. */
  hasTriggers(): boolean {
    const type = "iif(json_valid(trigger_json), trigger_json ->> '$.type', 'manual')";
    const [found] = this.database.rows(
      `SELECT id FROM workflows WHERE phase IN ('active', 'executing') AND ${type} <> 'manual' LIMIT 1`,
    );
    return found !== undefined;
  }

  /** Returns a stamp for each plan, by id: a text that changes with the plan, its trigger's state and its runs. */
  stamps(): Map<string, string> {
    return planStamps(this);
  }

  /** Returns a text that changes with each write of any process. */
  changeCounter(): string {
    return this.store.changeCounter();
  }

  /** Stores a notice about a plan until a channel of its owner is open. @throws ExecutorError */
  async notify(id: string, text: string): Promise<void> {
    await this.store.change(() => this.setNotice(id, text));
  }

  /** Stores a notice like {@link notify}, in the caller's transaction. */
  protected setNotice(id: string, text: string): void {
    const clean = this.secrets.hidden(text);
    this.setMetadata(id, (metadata) => withNotice(metadata, clean, Date.parse(this.at)));
  }

  /**
   * Discards the draft of a plan in a session. Does nothing if the session has no draft of the plan.
   * @throws ExecutorError
   */
  async dropDraft(id: string, session: string): Promise<void> {
    await this.store.change(() => {
      const { draft } = (this.get(id).metadata ?? {}) as { draft?: { session?: string } };
      if (draft?.session === session) this.setMetadata(id, withoutDraft);
    });
  }

  /** Discards an unconfirmed plan, or the draft of a confirmed plan. @throws ExecutorError */
  async reject(id: string): Promise<Workflow> {
    return await this.store.change(() => {
      const { id: whole, metadata } = this.get(id);
      if (metadata?.draft !== undefined) return this.setMetadata(whole, withoutDraft);
      move(this.database, whole, ["awaiting_confirmation", "planning"], this.at);
      return this.get(whole);
    });
  }

  /** Changes a plan's metadata in one transaction. @throws ExecutorError */
  async updateMetadata(
    id: string,
    change: (metadata: PlanMetadata) => PlanMetadata,
  ): Promise<Workflow> {
    return await this.store.change(() => this.setMetadata(id, change));
  }

  /** Changes metadata like {@link updateMetadata}, in the caller's transaction. */
  protected setMetadata(id: string, change: (metadata: PlanMetadata) => PlanMetadata): Workflow {
    const workflow = this.get(id);
    const metadata = JSON.stringify(change(workflow.metadata ?? {}));
    this.database.run(
      "UPDATE workflows SET metadata_json = ? WHERE id = ?",
      ...[metadata, workflow.id],
    );
    return this.get(workflow.id);
  }
}

export function withoutDraft(metadata: PlanMetadata): PlanMetadata {
  const { draft: _, ...others } = metadata;
  return others;
}

function ambiguous(id: string, found: readonly { id: string }[]): ExecutorError {
  const shown = found.slice(0, 5).map((one) => one.id);
  return ambiguousId(id, shown, found.length > shown.length);
}

/**
 * Returns a valid plan.
 * @throws PlannerError with all problems of the plan.
 */
function checked(workflow: Workflow): Workflow {
  const problems = [...checkPlan(workflow).errors, ...metadataProblems(workflow)];
  if (problems.length === 0) return workflow;
  const { details, message } = foundProblems(problems.map((problem) => problem.message));
  throw invalidPlan(`${workflow.id}: ${message}`, details);
}
