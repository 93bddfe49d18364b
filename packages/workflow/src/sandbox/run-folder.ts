import { readdirSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import type { Environment } from "../system/port.ts";

/**
 * Folder of a thread in the user's cache: files that its sandboxed commands share, and homes with the sessions of
 * agents. It is outside of the storage root because commands may write secrets to it.
 */
export const runFolder = (env: Environment, threadId: string): string =>
  join(runsFolder(env), threadId);

/** Returns the folder of the threads of all storage roots. */
export function runsFolder(env: Environment): string {
  const cache = env.XDG_CACHE_HOME || join(env.HOME ?? homedir(), ".cache");
  return join(cache, "uncaged-workflow", "runs");
}

/** Lists the names of the thread folders of all storage roots. */
export function runFolders(env: Environment): string[] {
  try {
    return readdirSync(runsFolder(env));
  } catch {
    return [];
  }
}

/** Removes the folder of a thread. If a process that is ending writes more files, the next recovery removes them. */
export function removeRunFolder(folder: string): void {
  try {
    rmSync(folder, { recursive: true, force: true });
  } catch {
    // A cache that can't be removed must not fail a thread.
  }
}
