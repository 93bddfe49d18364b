import type { Environment } from "@uncaged/workflow/host";
import { mkdirSync, statSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { homeNotFolder, homeNotMade, homeWritable } from "./errors.ts";

/** The environment variable that moves the plan home. */
export const homeVariable = "UNCAGED_PLAN_HOME";

/** Returns the folder of plans: the value of {@link homeVariable}, or `plans` in the storage root. */
export function planHome(root: string, env: Environment = process.env): string {
  const named = env[homeVariable];
  return named ? resolve(named) : join(root, "plans");
}

/** Returns the file of a home's plans if they are not shared. */
export const databaseIn = (home: string): string => join(home, "plans.db");

/**
 * Makes a missing plan home, with access only for its owner.
 * @throws ConfigError when the home is unusable, or when other users could write to it.
 */
export function openHome(home: string): void {
  let mode: number;
  try {
    const made = mkdirSync(home, { recursive: true, mode: 0o700 });
    // Keep all files of the home out of a repository. The storage root may be new too.
    if (made !== undefined) writeFileSync(join(made, ".gitignore"), "*\n", { mode: 0o600 });
    mode = statSync(home).mode;
  } catch (cause) {
    const { code = String(cause) } = cause as NodeJS.ErrnoException;
    throw homeNotMade(home, code, cause);
  }
  if ((mode & 0o040000) === 0) throw homeNotFolder(home);
  if ((mode & 0o022) !== 0) throw homeWritable(home);
}
