import { planHash } from "../plan/hash.ts";
import type { PlanDatabase } from "../store/database.ts";
import type { Workflow } from "../plan/plan.ts";

/** The sources of stamps: the database, and the drafts of confirmed plans. */
type Plans = { database: PlanDatabase; draft(id: string): Workflow | null };

/** Reads only the beginning of a compared output: when the output changes, the time of the check changes too. */
const statement = `SELECT w.id, w.metadata_json ->> '$.draft.session' AS draft, json_array(
    w.phase, w.updated_at, w.metadata_json,
    t.last_check_at, t.last_fire_at, t.last_error, substr(t.last_result, 1, 40),
    (SELECT json_array(r.id, r.status, r.completed_at) FROM workflow_runs r
      WHERE r.workflow_id = w.id ORDER BY r.started_at DESC, r.id DESC LIMIT 1),
    (SELECT json_group_array(json_array(s.id, s.status, s.started_at, s.completed_at))
      FROM workflow_runs r JOIN step_runs s ON s.run_id = r.id
      WHERE r.workflow_id = w.id AND r.status = 'running')
  ) AS stamp
  FROM workflows w LEFT JOIN trigger_state t ON t.workflow_id = w.id`;

/**
 * Returns a stamp for each plan, by id: a text that changes with its definition, its draft, its phase, its trigger's
 * state, its newest run and the steps of its open run.
 */
export function planStamps(plans: Plans): Map<string, string> {
  const rows = plans.database.rows<{ id: string; draft: string | null; stamp: string }>(statement);
  return new Map(
    rows.map(({ draft, id, stamp }) => [
      id,
      draft === null ? stamp : stamp + draftStamp(plans, id),
    ]),
  );
}

function draftStamp(plans: Plans, id: string): string {
  try {
    const draft = plans.draft(id);
    return draft ? planHash(draft) : "";
  } catch {
    // Opening the plan reports the error.
    return "";
  }
}
