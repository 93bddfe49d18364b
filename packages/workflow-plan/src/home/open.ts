import { existsSync } from "node:fs";
import { inMemory, PlanDatabase } from "../store/database.ts";
import { databaseIn, openHome } from "../store/home.ts";
import { Plans, type PlansOptions } from "./plans.ts";
import { SharedStore, type SharedRows } from "../store/shared-rows.ts";
import { fileStore } from "../store/store.ts";

/** Opens the plans of a home, which is made where it is missing. @throws ConfigError, ExecutorError */
export function openPlans(options: PlansOptions): Plans {
  const { home } = options;
  openHome(home);
  return new Plans(options, fileStore(home, new PlanDatabase(databaseIn(home))));
}

/** As {@link openPlans}, for who makes no plan: where there is no home, it has no plans and is not made. */
export function openPlansThatAre(options: PlansOptions): Plans {
  if (existsSync(databaseIn(options.home))) return openPlans(options);
  return new Plans(options, fileStore(options.home, new PlanDatabase(inMemory)));
}

/**
 * Opens plans that several machines share. The home has what is this machine's own: settings, credentials, conversations;
 * it is made if `creates` is set.
 *
 * @throws ConfigError, ExecutorError, and what the rows can't be read with
 */
export async function openSharedPlans(
  options: PlansOptions,
  rows: SharedRows,
  { creates = true }: { creates?: boolean } = {},
): Promise<Plans> {
  if (creates) openHome(options.home);
  const plans = new Plans(options, new SharedStore(rows));
  await plans.sync();
  return plans;
}
