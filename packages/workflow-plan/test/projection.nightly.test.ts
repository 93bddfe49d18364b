import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import { Database } from "bun:sqlite";
import { join } from "node:path";
import { Chance } from "../../workflow-graph/test/generated/chance.ts";
import { removeStores } from "../../workflow/test/fixtures/store.ts";
import { until } from "../../workflow/test/fixtures/until.ts";
import { runRowOf } from "../src/runs/projection.ts";
import { lastRun, withoutLog } from "../src/store/last-run.ts";
import { cron, hello, TestHome } from "./home.ts";
import { added, asks, fails, waits } from "./projection/plans.ts";
import { projectedTables, tablesOf, undisturbed } from "./projection/undisturbed.ts";
import { ServiceProcess } from "./service/process.ts";

/*
 * A service, a server and a command use one home while its projected tables are emptied or dropped at random moments:
 * while runs execute, wait for an approval, are paused, cancelled or retried, and after SIGKILL of workers and of the
 * service.
 */
setDefaultTimeout(600_000);
afterAll(removeStores);

const seeds = process.env.TEST_CASES === "all" ? 20 : 4;

test.each(Array.from({ length: seeds }, (_, n) => n + 1))(
  "tables that are repeatedly dropped end like the tables of an undisturbed process: seed %i",
  async (seed) => {
    const chance = new Chance(seed);
    const home = new TestHome();
    const { plans } = home;
    const server = home.open();
    let service = new ServiceProcess(home);
    await service.reported("ready");
    const all = [
      ...[await added(home, asks), await added(home, waits), await added(home, fails)],
      await added(home, hello({ trigger: cron })),
      await added(home, { ...waits, trigger: cron }),
    ];
    const raw = new Database(join(home.home, "plans.db"));
    raw.run("PRAGMA busy_timeout = 10000");
    const seen = new Map<string, unknown>();
    const background: Promise<unknown>[] = [];

    const drop = (): void => {
      const isWhole = chance.is(0.5);
      const tables = isWhole ? projectedTables : projectedTables.slice(0, 1 + chance.below(3));
      const what = chance.is(0.5) ? "DROP TABLE IF EXISTS" : "DELETE FROM";
      raw
        .transaction(() => {
          for (const table of tables) {
            const isThere = raw.query("SELECT 1 FROM sqlite_schema WHERE name = ?").get(table);
            if (isThere) raw.run(`${what} ${table}`);
          }
        })
        .immediate();
    };
    const act = async (): Promise<void> => {
      const { go, id } = chance.of(all);
      const [wanted] = (await plans.wanted()).filter(({ workflowId }) => workflowId === id);
      const kind = chance.below(11);
      if (wanted && kind < 6) await plans.answer(id, chance.of(["retry", "skip", "abort"]));
      else if (kind < 3)
        await (plans.get(id).phase === "awaiting_confirmation"
          ? plans.confirm(id)
          : plans.run(id, { data: `data ${kind}` }));
      else if (kind === 3) await plans.pause(id);
      else if (kind === 4) await plans.resume(id);
      else if (kind === 5) await plans.retry(id);
      else if (kind === 6) await plans.cancel(id);
      else if (kind === 7) go();
      else if (kind === 8) await home.store.signalWorkers("SIGKILL");
      else if (kind === 9) {
        await service.kill();
        service = new ServiceProcess(home);
      } else background.push(server.rebuild());
    };
    /** Accepts a refusal, and throws any other error. */
    const trying = (acting: Promise<unknown>) =>
      acting.catch((error: { code?: string }) => {
        if (!/^[A-Z_]+$/.test(error.code ?? "") || error.code?.startsWith("SQLITE")) throw error;
      });
    for (const { id } of all) await plans.confirm(id);
    for (let n = 0; n < 40; n += 1) {
      const acting = trying(act());
      if (chance.is(0.7)) drop();
      await acting;
      if (chance.is(0.5)) drop();
      for (const { id } of all) {
        for (const row of withoutLog(plans.database, id)) {
          if (!seen.has(row.id)) seen.set(row.id, row);
        }
      }
    }
    await Promise.all(background.map(trying));

    // All open runs end.
    await service.kill();
    service = new ServiceProcess(home);
    for (const { go } of all) go();
    const isOver = async (id: string): Promise<boolean> => {
      if (plans.get(id).phase === "paused") await plans.resume(id);
      for (const { workflowId } of await plans.wanted())
        await trying(plans.answer(workflowId, "abort"));
      await plans.recover();
      const last = lastRun(plans.database, id);
      return last?.status !== "queued" && last?.status !== "running";
    };
    for (const { id } of all)
      await until(
        () => isOver(id),
        () => JSON.stringify([plans.get(id), service.errors]),
      );
    await service.kill();
    drop();
    await plans.rebuild();
    for (const [id, row] of seen) {
      if (runRowOf(plans.database, id)) expect(runRowOf(plans.database, id)).toEqual(row as never);
    }
    const found = tablesOf(plans.database);
    const logged = found.workflow_runs.filter(({ id }) => !seen.has(String(id)));
    expect({ ...found, workflow_runs: logged }).toEqual(await undisturbed(home));
    expect(logged.length).toBeGreaterThan(2);
    raw.close();
  },
);
