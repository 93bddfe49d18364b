import type { TriggerConfig } from "../plan/plan.ts";
import { registered, type TriggerState } from "../trigger/state.ts";
import type { PlanDatabase } from "./database.ts";
import type { WorkflowRow } from "./rows.ts";

/** The basis of a trigger's decision. The decision is valid only while this is unchanged. */
export type Expected = {
  triggerJson: string;
  lastResult: string | null;
  lastCheckAt: string | null;
};

const never: TriggerState = {
  ...{ last_result: null, last_check_at: null, last_fire_at: null, last_error: null },
};

const columns = Object.keys(never).join(", ");

/** Returns the state of a plan's trigger, or null if it was never registered. */
export function triggerStateOf(database: PlanDatabase, workflowId: string): TriggerState | null {
  const statement = `SELECT ${columns} FROM trigger_state WHERE workflow_id = ?`;
  return database.rows<TriggerState>(statement, workflowId)[0] ?? null;
}

/**
 * Registers a plan's trigger, in the caller's transaction. The trigger may fire from `now` on. `was` is the trigger of
 * the stored state.
 */
export function register(
  database: PlanDatabase,
  workflowId: string,
  { trigger, was = trigger, now }: { trigger: TriggerConfig; was?: TriggerConfig; now: string },
): void {
  const state = triggerStateOf(database, workflowId);
  const before = state && { trigger: was, state };
  write(database, workflowId, registered(trigger, before, Date.parse(now)));
}

/**
 * Writes the result of a trigger's check. Returns false and writes nothing when the plan is not active, or when the
 * basis of the decision has changed.
 */
export function settle(
  database: PlanDatabase,
  workflowId: string,
  expected: Expected,
  state: Partial<TriggerState>,
): boolean {
  return database.atOnce(() => {
    const [plan] = database.rows<Pick<WorkflowRow, "trigger_json" | "phase">>(
      "SELECT trigger_json, phase FROM workflows WHERE id = ?",
      workflowId,
    );
    const now = triggerStateOf(database, workflowId) ?? never;
    if (plan?.phase !== "active" || plan.trigger_json !== expected.triggerJson) return false;
    if (now.last_result !== expected.lastResult) return false;
    if (now.last_check_at !== expected.lastCheckAt) return false;
    write(database, workflowId, { ...now, ...state });
    return true;
  });
}

function write(database: PlanDatabase, workflowId: string, state: TriggerState): void {
  const { last_check_at, last_error, last_fire_at, last_result } = state;
  database.run(
    `INSERT INTO trigger_state (workflow_id, last_result, last_check_at, last_fire_at, last_error)
      VALUES ($workflowId, $last_result, $last_check_at, $last_fire_at, $last_error)
      ON CONFLICT (workflow_id) DO UPDATE SET last_result = $last_result,
      last_check_at = $last_check_at, last_fire_at = $last_fire_at, last_error = $last_error`,
    { workflowId, last_check_at, last_error, last_fire_at, last_result },
  );
}
