import type { Environment, Host } from "@uncaged/workflow/host";
import { isThreadId } from "@uncaged/workflow/internal";
import { runIdOf } from "../plan/terms.ts";
import { removeRunFolder, runFolder, runFolders } from "@uncaged/workflow/sandbox";
import { checkPrefix } from "../step/check-folder.ts";
import type { PlanDatabase } from "../store/database.ts";
import { type Ended, runRowOf } from "./projection.ts";
import { findThread } from "./thread-log.ts";

/** Removes the shared folder of an ended run's steps. */
export function withoutFolder(run: Ended | null, env: Environment): Ended | null {
  // The id of a run from another program may be any text.
  if (run && isThreadId(run.threadId)) removeRunFolder(runFolder(env, run.threadId));
  return run;
}

/**
 * Removes the folders that killed workers left for a storage root's ended threads: threads of plans, and other threads
 * with a sandbox. The folder of an unknown thread stays, because it may belong to another root.
 */
export async function removeEndedFolders(
  host: Host,
  database: PlanDatabase,
  env: Environment,
): Promise<void> {
  for (const name of runFolders(env)) {
    if (await hasEnded(host, database, name).catch(() => false))
      removeRunFolder(runFolder(env, name));
  }
}

async function hasEnded(host: Host, database: PlanDatabase, threadId: string): Promise<boolean> {
  const run = runRowOf(database, runIdOf(threadId));
  if (run) return run.status !== "running";
  const ref = await findThread(host, threadId);
  const status = ref && (await host.row(ref))?.status;
  return status === "completed" || status === "failed";
}

/**
 * Removes the folders that killed processes left for a home's check scripts. Only the process with the trigger lock
 * runs check scripts.
 */
export function removeCheckFolders(home: string, env: Environment): void {
  for (const name of runFolders(env))
    if (name.startsWith(checkPrefix(home))) removeRunFolder(runFolder(env, name));
}
