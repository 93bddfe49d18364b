import { existsSync } from "node:fs";
import { inMemory, PlanDatabase } from "./database.ts";
import { databaseIn, openHome } from "./home.ts";
import { Plans, type PlansOptions } from "./plans.ts";
import { fileStore } from "./store.ts";

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
