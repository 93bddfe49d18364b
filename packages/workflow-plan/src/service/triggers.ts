import { Limit } from "@uncaged/workflow/interpreter";
import type { PlanMetadata, TriggerConfig, Workflow } from "../plan/plan.ts";
import { noticeOf } from "../home/notice.ts";
import type { Plans } from "../home/plans.ts";
import { valueIn, type WorkflowRow } from "../store/rows.ts";
import type { Expected } from "../store/trigger-state.ts";
import { type CheckCommand, type CheckLimits, runCheck } from "../trigger/check-script.ts";
import { type CheckOutcome, compareCheck, lastDue } from "../trigger/poll.ts";
import {
  type CronTrigger,
  isoOf,
  type PollTrigger,
  registered,
  type Settled,
  settleSlots,
  type TriggerState,
} from "../trigger/state.ts";

/*
 * Selects the due triggers by one statement: a cron trigger's next slot is stored, and a poll's next check is counted
 * from the last check. So a pass over thousands of plans computes no schedule if no plan is due. A trigger whose last
 * check is in the future is also due, because the clock was set back. An empty text is due at once. The plus prevents
 * SQLite from using the index of phases: most plans are active, and one pass over the table is faster than one lookup
 * per plan.
 */
const looksIn = (phases: string): string => `WITH look AS (
  SELECT w.id, t.last_check_at AS seen, CASE iif(json_valid(w.trigger_json), w.trigger_json ->> '$.type', NULL)
    WHEN 'cron' THEN iif(t.last_check_at IS NULL, '', t.last_result)
    WHEN 'poll' THEN ifnull(strftime('%Y-%m-%dT%H:%M:%fZ', t.last_check_at,
      (w.trigger_json ->> '$.interval_seconds') || ' seconds'), '')
  END AS due
  FROM workflows w LEFT JOIN trigger_state t ON t.workflow_id = w.id
  WHERE +w.phase IN (${phases}))`;
const looks = looksIn("'active'");
const looksAtAll = looksIn("'active', 'executing'");

/**
 * Returns the time when the next trigger is due, in milliseconds since the epoch: `now` or before if one is due; null
 * if none ever is.
 */
export function earliestDue(plans: Plans, now: number): number | null {
  const statement = `${looks} SELECT min(due) AS due, max(seen) AS seen FROM look`;
  const [found] = plans.database.rows<{ due: string | null; seen: string | null }>(statement);
  if (!found || found.due === null) return null;
  const isPutBack = (found.seen ?? "") > isoOf(now);
  return found.due === "" || isPutBack ? now : Date.parse(found.due);
}

/**
 * Returns the time when the next trigger fires, including triggers of plans with open runs: `now` or later; null if
 * none ever does.
 */
export function nextFire(plans: Plans, now: number): number | null {
  const statement = `${looksAtAll} SELECT min(due) AS due FROM look`;
  const [found] = plans.database.rows<{ due: string | null }>(statement);
  if (!found || found.due === null) return null;
  return found.due === "" ? now : Math.max(now, Date.parse(found.due));
}

/** Returns the ids of the plans with due triggers, the longest overdue first. */
function dueAt(plans: Plans, now: number): string[] {
  const statement = `${looks} SELECT id FROM look WHERE due <= $now OR seen > $now ORDER BY due, id`;
  return plans.database.rows<{ id: string }>(statement, { now: isoOf(now) }).map(({ id }) => id);
}

/** Selects the active plans with unreadable triggers, which are never due. */
const damagedTriggers = `SELECT id, trigger_json FROM workflows WHERE +phase = 'active'
  AND NOT iif(json_valid(trigger_json), json_type(trigger_json) = 'object', 0)`;

/** A run that a trigger started. The row of the run exists; its thread may not exist yet. */
export type Fired = { workflowId: string; runId: string };

export type TriggersOptions = {
  now?: () => number;
  /** Returns the command of a check script. May reject. */
  commandOf: (workflow: Workflow, script: string) => Promise<CheckCommand>;
  /** Called when a fire is committed. */
  onFire: (fired: Fired) => void;
  /** Called when the check of a trigger fails. A later pass retries the check. */
  onError: (workflowId: string, error: unknown) => void;
  limits?: CheckLimits;
};

/** The maximum number of concurrent checks. */
const mostChecks = 8;
/** The number of consecutive failed checks after which the owner is notified. */
const failuresToNotify = 3;

type Looked = {
  trigger: TriggerConfig;
  state: TriggerState;
  metadata: PlanMetadata;
  expected: Expected;
};

/**
 * Checks triggers and fires the due triggers.
 *
 * - **F1** Each check of a trigger reads definition and state again. The result is written only if both are unchanged.
 * - **F2** A fire is one transaction: the trigger's state, the phase, the run's row.
 * - **F3** Checks of a plan never overlap. Only the holder of the trigger lock checks triggers.
 * - **F4** An error of one plan does not stop other plans from firing.
 */
export class Triggers {
  readonly #plans: Plans;
  readonly #options: TriggersOptions;
  readonly #now: () => number;
  readonly #checks = new Map<string, Promise<void>>();
  readonly #limit = new Limit(mostChecks);
  readonly #stop = new AbortController();

  constructor(plans: Plans, options: TriggersOptions) {
    this.#plans = plans;
    this.#options = options;
    this.#now = options.now ?? Date.now;
  }

  /**
   * Fires the due slots, and starts the checks; `settled` waits for the checks. Returns the time when the next trigger
   * is due (now if a check is running, null if no trigger is ever due).
   */
  async look(): Promise<number | null> {
    await this.#plans.sync();
    const now = this.#now();
    this.#reportDamaged();
    const next = earliestDue(this.#plans, now);
    if (next === null || next > now) return next;
    for (const id of dueAt(this.#plans, now))
      if (!this.#stop.signal.aborted) await this.#lookAt(id);
    return earliestDue(this.#plans, now);
  }

  #reportDamaged(): void {
    type Row = Pick<WorkflowRow, "id" | "trigger_json">;
    for (const row of this.#plans.database.rows<Row>(damagedTriggers)) {
      try {
        valueIn(row, "trigger_json");
      } catch (error) {
        this.#options.onError(row.id, error);
      }
    }
  }

  /** Resolves when no check is in flight. */
  async settled(): Promise<void> {
    while (this.#checks.size > 0) await Promise.all(this.#checks.values());
  }

  /** Ends the checks in flight. No trigger fires after that. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.settled();
  }

  async #lookAt(id: string): Promise<void> {
    if (this.#checks.has(id)) return;
    try {
      const looked = this.#read(id);
      if (looked?.trigger.type === "cron") await this.#settle(id, looked, looked.trigger);
      if (looked?.trigger.type === "poll") this.#begin(id);
    } catch (error) {
      this.#options.onError(id, error);
    }
  }

  /** Reads the basis of a decision. Returns null if the plan is not active. */
  #read(id: string): Looked | null {
    const [row] = this.#plans.database.rows<
      TriggerState & { trigger_json: string; metadata_json: string | null }
    >(
      `SELECT w.trigger_json, w.metadata_json, t.* FROM workflows w
        LEFT JOIN trigger_state t ON t.workflow_id = w.id WHERE w.id = ? AND w.phase = 'active'`,
      id,
    );
    if (!row) return null;
    const { last_check_at, last_error, last_fire_at, last_result, trigger_json } = row;
    return {
      trigger: valueIn({ ...row, id }, "trigger_json") as TriggerConfig,
      state: { last_check_at, last_error, last_fire_at, last_result },
      metadata: (valueIn({ ...row, id }, "metadata_json") ?? {}) as PlanMetadata,
      expected: { triggerJson: trigger_json, lastResult: last_result, lastCheckAt: last_check_at },
    };
  }

  async #settle(
    id: string,
    { expected, metadata, state }: Looked,
    trigger: CronTrigger,
  ): Promise<void> {
    const { slot, state: seen } = settledSlots(trigger, state, metadata, this.#now());
    if (slot === null || (await this.#plans.hasFired(id, slot)))
      await this.#plans.settle(id, expected, { state: seen });
    else await this.#fire(id, expected, seen, slot);
  }

  async #fire(
    id: string,
    expected: Expected,
    state: Partial<TriggerState>,
    triggerData: string,
  ): Promise<void> {
    const fired = await this.#plans.fire({ workflowId: id, expected, state, triggerData });
    if (fired) this.#options.onFire({ workflowId: fired.workflowId, runId: fired.runId });
  }

  #begin(id: string): void {
    const check = this.#limit
      .run(() => this.#check(id))
      .catch((error: unknown) => this.#options.onError(id, error))
      .finally(() => this.#checks.delete(id));
    this.#checks.set(id, check);
  }

  async #check(id: string): Promise<void> {
    const looked = this.#stop.signal.aborted ? null : this.#read(id);
    if (looked?.trigger.type !== "poll") return;
    const { expected, metadata, state, trigger } = looked;
    const start = this.#now();
    const outcome = await this.#outcome(id, trigger);
    if (this.#stop.signal.aborted) return;
    const checkedAt = lastDue(start, this.#now(), trigger);
    const firesFirst = metadata.fire_on_first_check === true;
    const checked = compareCheck(trigger, state, outcome, { firesFirst, checkedAt });
    if (checked.data !== null) return await this.#fire(id, expected, checked.state, checked.data);
    const isNews = checked.failures === failuresToNotify;
    const notice = isNews ? noticeOf.failing(checked.state.last_error ?? "") : null;
    await this.#plans.settle(id, expected, { state: checked.state, notice });
  }

  async #outcome(id: string, { check_script }: PollTrigger): Promise<CheckOutcome> {
    const { commandOf, limits } = this.#options;
    try {
      const command = await commandOf(this.#plans.get(id), check_script);
      return { output: await runCheck(command, this.#stop.signal, limits) };
    } catch (error) {
      return { error: messageOf(error) };
    }
  }
}

/** Returns the slots of a trigger whose registration or slot may be missing. */
function settledSlots(
  trigger: CronTrigger,
  state: TriggerState,
  { missed_slots }: PlanMetadata,
  now: number,
): Settled {
  try {
    if (state.last_check_at !== null) return settleSlots(trigger, state, missed_slots, now);
    return { state: registered(trigger, null, now), slot: null };
  } catch (error) {
    const last_error = `trigger.expression: ${messageOf(error)}`;
    return { state: { last_check_at: isoOf(now), last_result: null, last_error }, slot: null };
  }
}

const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);
