import type { Host, ThreadRef, ThreadRow } from "@uncaged/workflow/host";
import { runIdOf, threadIdOf } from "../plan/terms.ts";
import type { PlanDatabase } from "../store/database.ts";
import { projected } from "./projection.ts";
import { planOf, removeSteps, runRowOf, writeRows } from "./projections.ts";
import { bundleName, type RunRow } from "../store/rows.ts";
import type { PlanStore } from "../store/store.ts";
import { definitionIn, findThread, readLog } from "./thread-log.ts";

type Run = Pick<RunRow, "id" | "workflow_id">;

/**
 * Makes the rows of all runs again from the logs of their threads, those that have no row any more included. A row
 * without a log stays: it is queued, or its log was removed and it is all that is known.
 */
export async function rebuild(
  host: Host,
  store: PlanStore,
  at: () => string,
): Promise<{ runs: number }> {
  const { database } = store;
  await store.change(() => removeStray(database));
  let count = 0;
  const done = new Set<string>();
  const again = async (run: Run) => {
    done.add(run.id);
    if (await rebuildRun(host, store, run, at)) count += 1;
  };
  for (const run of database.rows<RunRow>("SELECT * FROM workflow_runs")) await again(run);
  for await (const { id, row } of threadsOfPlans(host, database)) {
    const run = { id: runIdOf(row.threadId), workflow_id: id };
    if (!done.has(run.id) && runRowOf(database, run.id) === null) await again(run);
  }
  return { runs: count };
}

/** Makes the rows of a run again; false when there is no log of it. */
export async function rebuildRun(
  host: Host,
  store: PlanStore,
  run: Run,
  at: () => string,
): Promise<boolean> {
  const { database } = store;
  for (let isWritten = false; !isWritten; ) {
    const status = runRowOf(database, run.id)?.status;
    const read = await readRun(host, database, run);
    // The thread of another plan home, or of no plan.
    if (read?.log.start.parameters.options.workflowId !== run.workflow_id) return false;
    const rows = projected(read.definition, read.log);
    // A log that was read before another process has written its end is read again.
    isWritten = await store.change(() => {
      if (runRowOf(database, run.id)?.status !== status) return false;
      writeRows(database, rows, at(), { again: true });
      return true;
    });
  }
  return true;
}

/** The log of a run with the definition that it runs; null while it has none. */
async function readRun(host: Host, database: PlanDatabase, { id, workflow_id }: Run) {
  const ref = await findThread(host, threadIdOf(id));
  const log = ref && (await readLog(host, ref));
  if (!ref || !log) return null;
  const definition = await definitionIn(host, ref, () => planOf(database, workflow_id));
  return definition && { log, definition };
}

/** Removes what belongs to no run, or is left of one whose log is there and will be written again. */
function removeStray(database: PlanDatabase): void {
  database.run("DELETE FROM sessions WHERE step_run_id NOT IN (SELECT id FROM step_runs)");
  const stray =
    "SELECT DISTINCT run_id FROM step_runs WHERE run_id NOT IN (SELECT id FROM workflow_runs)";
  for (const { run_id } of database.rows<{ run_id: string }>(stray)) removeSteps(database, run_id);
}

/** The threads that have the name of a plan's bundle, each with the plan. */
async function* threadsOfPlans(
  host: Host,
  database: PlanDatabase,
): AsyncGenerator<{ id: string; row: ThreadRow & ThreadRef }> {
  const named = database.rows<{ id: string; name: string | null }>(
    `SELECT id, ${bundleName} AS name FROM workflows w`,
  );
  const plans = new Map(named.flatMap(({ id, name }) => (name === null ? [] : [[name, id]])));
  for (let before: string | undefined; ; ) {
    const { next, rows } = await host.threads({ limit: 200, before });
    for (const row of rows) {
      const id = plans.get(row.workflow);
      if (id !== undefined) yield { id, row };
    }
    if (next === null) return;
    before = next;
  }
}
