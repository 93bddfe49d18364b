import type { Environment } from "@uncaged/workflow/host";
import { createHash } from "node:crypto";
import { readdirSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

/**
 * The folder of a run's steps in the user's cache: what they write for each other, and the homes in which their agents keep
 * their sessions. It is no part of the storage root, for what a step writes may be a secret.
 */
export const runFolder = (env: Environment, threadId: string): string =>
  join(runsFolder(env), threadId);

/** The folder of all runs, of whatever storage root. */
export function runsFolder(env: Environment): string {
  const cache = env.XDG_CACHE_HOME || join(env.HOME ?? homedir(), ".cache");
  return join(cache, "uncaged-workflow", "runs");
}

/** What the names of the folders of a plan home's check scripts begin with. */
export const checkPrefix = (planHome: string): string =>
  `check-${createHash("sha256").update(planHome).digest("hex").slice(0, 12)}-`;

/** The names of the folders of all runs, of whatever storage root. */
export function runFolders(env: Environment): string[] {
  try {
    return readdirSync(runsFolder(env));
  } catch {
    return [];
  }
}

/** Removes the folder of a run. What a process that is about to end still writes there, the next recovery removes. */
export function removeRunFolder(folder: string): void {
  try {
    rmSync(folder, { recursive: true, force: true });
  } catch {
    // It is a cache, and no reason for a run to fail.
  }
}
