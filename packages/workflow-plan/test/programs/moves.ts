import { openLocalHost } from "@uncaged/workflow/host";
import { join } from "node:path";
import { openPlans } from "../../src/entry/service.ts";
import { cron } from "../home.ts";

/*
 * Fires a plan repeatedly, in competition with other processes, and ends the runs that it fired. Prints the numbers of
 * the won rounds.
 */
const [, , home = "", id = "", rounds = "0"] = process.argv;
const host = openLocalHost({ path: join(home, "..", "root") });
const plans = openPlans({ host, home, env: {}, cwd: home });
const won: number[] = [];
for (let round = 0; round < Number(rounds); ) {
  const lastResult = plans.database.rows<{ last_result: string | null }>(
    "SELECT last_result FROM trigger_state",
  )[0]?.last_result;
  round = Number(lastResult ?? 0);
  if (round === Number(rounds)) break;
  const fired = await plans.fire({
    workflowId: id,
    expected: {
      triggerJson: JSON.stringify(cron),
      ...{ lastResult: lastResult ?? null, lastCheckAt: null },
    },
    state: { last_result: String(round + 1) },
    triggerData: null,
  });
  if (fired === null) continue;
  won.push(round);
  await plans.cancel(id);
}
process.stdout.write(JSON.stringify(won));
