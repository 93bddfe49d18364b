import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { StepContext } from "@uncaged/workflow";

const run = promisify(execFile);

const git = async ({ cwd, env, signal }: StepContext, ...args: string[]): Promise<string> =>
  (await run("git", args, { cwd, env: { ...env }, signal })).stdout.trim();

/** Returns the changes of the team as the output of `git diff --stat`. */
export const changes = (here: StepContext, base: string, branch: string): Promise<string> =>
  git(here, "diff", "--stat", base, branch);

/** Merges the team's work. A failed merge leaves the checkout unchanged. */
export async function mergeInto(here: StepContext, branch: string): Promise<string> {
  try {
    return await git(here, "merge", "--no-edit", "-m", "Merge the work of the team", branch);
  } catch (error) {
    await git(here, "merge", "--abort").catch(() => undefined);
    throw error;
  }
}
