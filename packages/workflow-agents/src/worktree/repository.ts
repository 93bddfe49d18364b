import { realpath } from "node:fs/promises";
import { resolve } from "node:path";
import { isWorkflowError } from "@uncaged/workflow";
import { type GitContext, git } from "./git.ts";
import {
  folderMissing,
  noCommitYet,
  noSuchCommit,
  notInRepository,
  othersRepository,
} from "./errors.ts";

/**
 * A repository: its git directory, and the git directory and the folder of the checkout in which a thread works.
 * `prefix` is the path of the thread's directory in the checkout, which is `""` or ends with a slash. `isBare` means
 * that the repository does not have a checkout.
 */
export type Repository = {
  gitDir: string;
  ownDir: string;
  folder: string;
  prefix: string;
  isBare: boolean;
};

const line = (text: string): string => text.replace(/\n$/, "");

/**
 * Returns the repository of a folder, which may be bare.
 * @throws WorkflowError `NO_REPOSITORY`.
 */
export async function repositoryAt(context: GitContext, folder: string): Promise<Repository> {
  const ask = async (...args: string[]) =>
    line((await git(context, { inFolder: folder }, ["rev-parse", ...args])).output);
  try {
    const asked = ["--is-inside-work-tree", "--git-common-dir", "--git-dir", "--show-prefix"];
    let found = (await ask(...asked)).split("\n");
    // If the name of a folder contains line ends, each value has to be requested separately.
    if (found.length !== asked.length) {
      found = [];
      for (const one of asked) found.push(await ask(one));
    }
    const [isInside, gitDir = "", ownDir = "", prefix = ""] = found;
    return {
      gitDir: await realpath(resolve(folder, gitDir)),
      ownDir: await realpath(resolve(folder, ownDir)),
      ...{ folder, prefix, isBare: isInside !== "true" },
    };
  } catch (error) {
    if (!isWorkflowError(error) || !/^(GIT_FAILED|COMMAND_REFUSED)$/.test(error.code)) throw error;
    if (error.code === "COMMAND_REFUSED") throw folderMissing(folder, error);
    const isOthers = /dubious ownership/.test(error.message);
    throw isOthers ? othersRepository(folder, error) : notInRepository(folder, error);
  }
}

/**
 * Returns the commit to which a name refers.
 * @throws WorkflowError `NO_COMMIT_YET`, `NO_SUCH_COMMIT`.
 */
export async function commitNamed(
  context: GitContext,
  { gitDir, ownDir }: Repository,
  name: string,
): Promise<string> {
  const find = async (what: string) => {
    const args = ["rev-parse", "--verify", "--quiet", "--end-of-options", `${what}^{commit}`];
    const place = { repository: gitDir, gitDir: ownDir };
    const { code, output } = await git(context, place, args, { answers: [0, 1, 128] });
    return code === 0 ? line(output) : null;
  };
  const found = await find(name);
  if (found !== null) return found;
  if (name === "HEAD") {
    throw noCommitYet(gitDir);
  }
  throw noSuchCommit(gitDir, name);
}

/** Returns whether a name refers to an existing object. */
export async function hasObject(
  context: GitContext,
  { gitDir }: Repository,
  name: string,
): Promise<boolean> {
  const args = ["cat-file", "-e", name];
  const { code } = await git(context, { repository: gitDir }, args, {
    answers: [0, 1, 128],
  });
  return code === 0;
}

/** Returns whether tracked files have changes in the thread's folder. Does not write to the folder. */
export async function hasChanges(
  context: GitContext,
  { folder, gitDir, isBare, ownDir, prefix }: Repository,
): Promise<boolean> {
  if (isBare) return false;
  // Ignores submodules, in which git would use the submodule's settings.
  const args = ["status", "--porcelain", "--untracked-files=no", "--ignore-submodules=all"];
  const workTree = resolve(await realpath(folder), prefix.replaceAll(/[^/]+/g, ".."));
  const place = { repository: gitDir, gitDir: ownDir, workTree };
  const { code, output } = await git(context, place, args, { answers: [0, 128] });
  return code === 0 && output !== "";
}

const ours = { name: "uncaged-workflow", email: "uncaged-workflow@localhost" };

/** Returns environment variables for a committer if the user's git settings do not have one. */
export async function identityOf(
  context: GitContext,
  { gitDir }: Repository,
): Promise<Record<string, string>> {
  const args = ["config", "--get-regexp", "^(user|author|committer)\\.(name|email)$"];
  const { output } = await git(context, { repository: gitDir }, args, { answers: [0, 1] });
  const identity: Record<string, string> = {};
  for (const who of ["author", "committer"]) {
    for (const what of ["name", "email"] as const) {
      const isSet = [`user.${what} `, `${who}.${what} `].some((start) =>
        output.split("\n").some((one) => one.startsWith(start) && one.length > start.length),
      );
      if (!isSet) identity[`GIT_${who}_${what}`.toUpperCase()] = ours[what];
    }
  }
  return identity;
}
