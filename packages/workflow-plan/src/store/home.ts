import type { Environment } from "@uncaged/workflow/host";
import { mkdirSync, statSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { ConfigError } from "../error/error.ts";

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
 * @throws ConfigError when it is unusable, or others could write to it.
 */
export function openHome(home: string): void {
  const refuse = (what: string, hint: string, cause?: unknown) =>
    new ConfigError(`the plan home ${home} ${what}`, { hint, cause });
  let mode: number;
  try {
    const made = mkdirSync(home, { recursive: true, mode: 0o700 });
    // No file of the home belongs in a repository; the storage root may be new too.
    if (made !== undefined) writeFileSync(join(made, ".gitignore"), "*\n", { mode: 0o600 });
    mode = statSync(home).mode;
  } catch (cause) {
    const { code = String(cause) } = cause as NodeJS.ErrnoException;
    throw refuse(`can't be made: ${code}`, `set ${homeVariable} to a folder of your own`, cause);
  }
  if ((mode & 0o040000) === 0) throw refuse("is not a folder", `set ${homeVariable} to a folder`);
  if ((mode & 0o022) !== 0) throw refuse("can be written by others", `run: chmod 700 ${home}`);
}
