import type { Host } from "@uncaged/workflow/host";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { runIdOf } from "../../src/plan/terms.ts";
import { Projection } from "../../src/runs/projection.ts";
import { PlanDatabase } from "../../src/store/database.ts";
import { lastRun, openRuns, setLastRun } from "../../src/store/last-run.ts";
import { fileStore } from "../../src/store/store.ts";
import type { TestHome } from "../home.ts";

export const projectedTables = ["sessions", "step_runs", "workflow_runs"] as const;

export type Tables = Record<(typeof projectedTables)[number], Record<string, unknown>[]>;

/** Returns all rows of the projected tables, with all of their columns. */
export const tablesOf = (database: PlanDatabase): Tables => {
  const read = (table: keyof Tables) =>
    database.rows<Record<string, unknown>>(`SELECT * FROM ${table} ORDER BY id`);
  return {
    sessions: read("sessions"),
    step_runs: read("step_runs"),
    workflow_runs: read("workflow_runs"),
  };
};

/** Returns a host that shows the first records of each thread's log. `count` is the number of records, including the start record. */
function beginning(host: Host): { host: Host; count: number } {
  const shown = { count: 0, host };
  async function* observe(...given: Parameters<Host["observe"]>) {
    for await (const item of host.observe(...given)) {
      const number = item.kind === "step" ? item.number : item.kind === "end" ? Infinity : 0;
      if (number > shown.count) return;
      yield item;
    }
  }
  shown.host = { ...host, observe };
  return shown;
}

/**
 * Returns the tables of a process that followed each log record by record without a disturbance, in a separate database
 * with the plans of a home.
 */
export async function undisturbed({ home, host, plans }: TestHome): Promise<Tables> {
  const path = join(home, "undisturbed.db");
  const database = new PlanDatabase(path);
  try {
    for (const row of plans.database.rows<Record<string, string>>("SELECT * FROM workflows")) {
      const columns = Object.keys(row);
      const values = columns.map((one) => `$${one}`).join(", ");
      database.run(`INSERT INTO workflows (${columns.join(", ")}) VALUES (${values})`, row);
    }
    await followAll(database, home, host);
    return tablesOf(database);
  } finally {
    database.close();
    for (const end of ["", "-wal", "-shm"]) rmSync(`${path}${end}`, { force: true });
  }
}

async function followAll(database: PlanDatabase, home: string, host: Host): Promise<void> {
  const shown = beginning(host);
  const store = fileStore(home, database);
  const projection = new Projection(store, shown.host, () => new Date(0).toISOString());
  const queued = openRuns(database).filter(({ run }) => run.status === "queued");
  const { rows } = await host.threads({ limit: 1000 });
  for (const { threadId, ...row } of rows.toReversed()) {
    const ref = await host.find(threadId);
    const log = await Array.fromAsync(host.observe(ref, undefined, { until: "now" }));
    const start = log.find((item) => item.kind === "start");
    const workflowId = String(start?.start.parameters.options.workflowId);
    const run = { id: runIdOf(threadId), workflow_id: workflowId };
    setLastRun(database, run.workflow_id, { id: run.id, status: "running" });
    for (shown.count = 0; shown.count <= row.steps; shown.count += 1) await projection.follow(run);
    shown.count = Infinity;
    await projection.follow(run);
    const [written] = database.rows<{ status: "running" }>(
      "SELECT status FROM workflow_runs WHERE id = ?",
      run.id,
    );
    if (lastRun(database, run.workflow_id)?.status !== written?.status)
      throw new Error(`${run.id} is ${written?.status} in its row alone`);
  }
  for (const open of queued) {
    setLastRun(database, open.workflow_id, open.run);
    await projection.follow(open);
  }
}
