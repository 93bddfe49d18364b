import { type Environment, threadIdPattern } from "@uncaged/workflow/host";
import { runIdOf } from "../plan/terms.ts";
import { removeRunFolder, runFolder, runFolders } from "../step/launch.ts";
import type { PlanDatabase } from "./database.ts";
import { type Ended, runRowOf } from "./projections.ts";

/** Removes what the steps of a run kept for each other: behind its end nothing of it is needed. */
export function withoutFolder(run: Ended | null, env: Environment): Ended | null {
  // The id of another program's run may be any text.
  if (run && threadIdPattern.test(run.threadId)) removeRunFolder(runFolder(env, run.threadId));
  return run;
}

/** Removes the folders that are left of ended runs, whose workers were killed while they had files there. */
export function removeEndedFolders(database: PlanDatabase, env: Environment): void {
  for (const threadId of runFolders(env)) {
    const run = runRowOf(database, runIdOf(threadId));
    if (run && run.status !== "running") removeRunFolder(runFolder(env, threadId));
  }
}
