import type { Environment } from "@uncaged/workflow/host";
import { noPlanHome } from "./errors.ts";

/** The arguments that start the command line again, and the folders of code that it needs. */
export type OwnProgram = { argv: readonly string[]; folders: readonly string[] };

/**
 * The parts of a worker's machine that the steps of plans use: the plan home, the storage root, and the command line.
 */
type WorkerSite = { planHome: string; planRoot: string; planProgram?: OwnProgram };

/** The variable that passes the site to a worker. */
const variable = "UNCAGED_PLAN_WORKER";

/** Returns the environment variables for a worker that runs steps of shared plans. */
export const workerEnv = (site: WorkerSite): Record<string, string> => ({
  [variable]: JSON.stringify(site),
});

/** Returns the site of this worker. @throws ConfigError if the variable is missing */
export function workerSite(env: Environment): WorkerSite {
  const named = env[variable];
  if (named) return JSON.parse(named) as WorkerSite;
  throw noPlanHome();
}
