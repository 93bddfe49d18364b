import type { Workflow, WorkflowPhase } from "../plan/plan.ts";
import type { PlanDatabase } from "./database.ts";
import { isOpen, lastRun } from "./last-run.ts";
import type { WorkflowRow } from "./rows.ts";
import { noPlan, phaseError } from "./errors.ts";

/** All transitions between phases of a plan. Each is a compare-and-set in one transaction. */
export const transitions: readonly (readonly [from: WorkflowPhase, to: WorkflowPhase])[] = [
  ["planning", "awaiting_confirmation"],
  ["awaiting_confirmation", "active"],
  ["awaiting_confirmation", "executing"],
  ["awaiting_confirmation", "planning"],
  ["active", "executing"],
  ["executing", "active"],
  ["executing", "completed"],
  ["executing", "failed"],
  ["active", "paused"],
  ["executing", "paused"],
  ["paused", "active"],
  ["failed", "executing"],
];

/** Tells whether a transition between two phases exists. */
export const mayBecome = (from: WorkflowPhase, to: WorkflowPhase): boolean =>
  transitions.some(([one, other]) => one === from && other === to);

/**
 * Moves a plan from one phase to another, if the plan is in the first phase.
 * @throws ExecutorError that names both phases if the plan is in another phase, or the transition does not exist
 */
export function move(
  database: PlanDatabase,
  id: string,
  [from, to]: readonly [from: WorkflowPhase, to: WorkflowPhase],
  at: string,
): void {
  if (!mayBecome(from, to)) throw phaseError(id, from, to);
  const changed = database.run(
    "UPDATE workflows SET phase = ?, updated_at = ? WHERE id = ? AND phase = ?",
    ...[to, at, id, from],
  );
  if (changed === 1) return;
  const [row] = database.rows<{ phase: WorkflowPhase }>(
    "SELECT phase FROM workflows WHERE id = ?",
    id,
  );
  if (!row) throw noPlan(id);
  throw phaseError(id, row.phase, to);
}

/**
 * Moves a plan whose run has ended out of `executing`, in the caller's transaction. A plan with an unreadable trigger
 * stays there until the trigger is repaired.
 */
export function settlePhase(database: PlanDatabase, workflowId: string, at: string): void {
  const [plan] = database.rows<Pick<WorkflowRow, "phase" | "trigger_json">>(
    "SELECT phase, trigger_json FROM workflows WHERE id = ?",
    workflowId,
  );
  const last = lastRun(database, workflowId);
  if (plan?.phase !== "executing" || isOpen(last)) return;
  const type = triggerTypeOf(plan.trigger_json);
  if (type === null) return;
  const status = last?.status === "completed" ? "completed" : "failed";
  move(database, workflowId, ["executing", type === "manual" ? status : "active"], at);
}

function triggerTypeOf(json: string): Workflow["trigger"]["type"] | null {
  try {
    return (JSON.parse(json) as Partial<Workflow["trigger"]> | null)?.type ?? null;
  } catch {
    return null;
  }
}
