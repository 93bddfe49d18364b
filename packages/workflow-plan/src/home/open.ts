import { existsSync } from "node:fs";
import { inMemory, PlanDatabase } from "../store/database.ts";
import { databaseIn, openHome } from "../store/home.ts";
import { adoptRuns, unadoptedRuns } from "../store/last-run.ts";
import { Plans, type PlansOptions } from "./plans.ts";
import { SharedStore, type SharedRows } from "../store/shared-rows.ts";
import { SecretFile } from "./secrets.ts";
import { fileStore } from "../store/store.ts";

/**
 * Opens the plans of a home. With `creates`, creates a missing home. Otherwise a missing home is empty.
 * @throws ConfigError, ExecutorError
 */
export function openPlans(
  options: PlansOptions,
  { creates = true }: { creates?: boolean } = {},
): Plans {
  const { home } = options;
  if (!creates && !existsSync(databaseIn(home)))
    return new Plans(options, fileStore(home, new PlanDatabase(inMemory)));
  openHome(home);
  const database = new PlanDatabase(databaseIn(home));
  if (unadoptedRuns(database).length > 0) database.atOnce(() => adoptRuns(database));
  return new Plans(options, fileStore(home, database));
}

/**
 * Opens plans that several machines share. The home holds the machine's own data: settings, credentials and
 * conversations. With `creates`, creates a missing home.
 *
 * @throws ConfigError, ExecutorError, and the errors of reading the rows
 */
export async function openSharedPlans(
  options: PlansOptions,
  rows: SharedRows,
  { creates = true }: { creates?: boolean } = {},
): Promise<Plans> {
  if (creates) openHome(options.home);
  const store = new SharedStore(rows);
  const plans = new Plans(options, store);
  await plans.sync();
  if (unadoptedRuns(store.database).length > 0) await store.change(() => adoptRuns(store.database));
  return plans;
}

/**
 * Opens the credentials of a home, regardless of the state of its settings and plans. With `creates`, creates a missing home.
 * @throws ConfigError
 */
export function openSecrets(home: string, { creates = false } = {}): SecretFile {
  if (creates) openHome(home);
  return new SecretFile(home);
}
