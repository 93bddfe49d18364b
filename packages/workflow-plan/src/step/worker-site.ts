import type { Environment } from "@uncaged/workflow/host";
import { ConfigError } from "../error/error.ts";

/** How the command line is started again, and which folders of code that needs. */
export type OwnProgram = { argv: readonly string[]; folders: readonly string[] };

/** What the steps of plans use of a worker's machine: its plan home, its storage root, and the command line there. */
type WorkerSite = { planHome: string; planRoot: string; planProgram?: OwnProgram };

/** The variable in which a worker has it. */
const variable = "UNCAGED_PLAN_WORKER";

/** What is put into the environment of a worker that is to carry out the steps of plans that several machines share. */
export const workerEnv = (site: WorkerSite): Record<string, string> => ({
  [variable]: JSON.stringify(site),
});

/** @throws ConfigError for a worker that has none. */
export function workerSite(env: Environment): WorkerSite {
  const named = env[variable];
  if (named) return JSON.parse(named) as WorkerSite;
  throw new ConfigError("this worker has no plan home for the steps of plans", {
    hint: "start it with uncaged-workflow worker",
  });
}
