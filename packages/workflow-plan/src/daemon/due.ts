import type { Plans } from "../service/plans.ts";
import { isoOf } from "../trigger/state.ts";

/*
 * What is due, by one statement: a cron trigger's next slot is stored, and a poll's is counted from its last check. So a pass
 * over thousands of plans of which none is due computes no schedule. What was looked at in the future is due as well: the
 * clock was put back since. An empty text is due at once.
 */
const looks = `WITH look AS (
  SELECT w.id, t.last_check_at AS seen, CASE w.trigger_json ->> '$.type'
    WHEN 'cron' THEN iif(t.last_check_at IS NULL, '', t.last_result)
    WHEN 'poll' THEN ifnull(strftime('%Y-%m-%dT%H:%M:%fZ', t.last_check_at,
      (w.trigger_json ->> '$.interval_seconds') || ' seconds'), '')
  END AS due
  FROM workflows w LEFT JOIN trigger_state t ON t.workflow_id = w.id
  WHERE w.phase = 'active' AND json_valid(w.trigger_json))`;

/** When the next trigger is due, in milliseconds since the epoch: `now` or before when one is; null when none ever is. */
export function earliestDue(plans: Plans, now: number): number | null {
  const statement = `${looks} SELECT min(due) AS due, max(seen) AS seen FROM look`;
  const [found] = plans.database.rows<{ due: string | null; seen: string | null }>(statement);
  if (!found || found.due === null) return null;
  const isPutBack = (found.seen ?? "") > isoOf(now);
  return found.due === "" || isPutBack ? now : Date.parse(found.due);
}

/** The ids of the plans whose triggers are due, the longest due first. */
export function dueAt(plans: Plans, now: number): string[] {
  const statement = `${looks} SELECT id FROM look WHERE due <= $now OR seen > $now ORDER BY due, id`;
  return plans.database.rows<{ id: string }>(statement, { now: isoOf(now) }).map(({ id }) => id);
}
