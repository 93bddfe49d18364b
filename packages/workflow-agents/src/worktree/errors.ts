import type { WorkflowError } from "@uncaged/workflow";
import { failure, misuse } from "../run/error.ts";

/* The errors of worktrees and of git. */

export const invalidTreeName = (name: string): WorkflowError =>
  misuse(
    "BAD_WORKTREE",
    `invalid name of a worktree: ${JSON.stringify(name)}`,
    "use letters, digits, - and _, at most 64 characters",
  );

export const worktreeField = (): WorkflowError =>
  misuse(
    "RESERVED_FIELD",
    "the schema of a role in a worktree has the field worktree, which records its commit",
    "give the field another name",
  );

export const noTreesFolder = (): WorkflowError =>
  failure(
    "NO_WORKTREES",
    "missing folder for the thread's worktrees",
    "run the thread by a host, or set a folder in the option worktrees of run",
  );

/**
 * Returns the error for a missing commit. `made` is the repository in which the commit was created, if it is not the
 * worktree's repository.
 */
export const commitMissing = (
  threadId: string,
  commit: string,
  { gitDir, made }: { gitDir: string; made: string | null },
): WorkflowError =>
  failure(
    "COMMIT_MISSING",
    `the repository ${gitDir} does not have the files of the last step of ${threadId}: commit ${commit}${made === null ? "" : `, which was made in ${made}`}`,
    "fetch the commit from the machine on which the step ran, or fork the thread before that step",
  );

export const worktreeBusy = (path: string): WorkflowError =>
  failure(
    "WORKTREE_BUSY",
    `another role uses the worktree ${path}`,
    'give each concurrent role its own worktree: of: "role"',
  );

export const gitMissing = (cause: WorkflowError): WorkflowError =>
  failure(
    "GIT_MISSING",
    "a worktree needs git, which was not found",
    "install git, or add its folder to PATH",
    { cause },
  );

export const gitTooOld = (oldest: string, found: string): WorkflowError =>
  failure(
    "GIT_TOO_OLD",
    `a worktree needs git ${oldest} or later: this is ${found}`,
    "install a later git",
  );

export const gitFailed = (command: string, folder: string, reason: string): WorkflowError =>
  failure(
    "GIT_FAILED",
    `git ${command} in ${folder} failed: ${reason}`,
    "fix the problem, then retry the thread",
  );

export const worktreeNotMade = (path: string): WorkflowError =>
  failure(
    "GIT_FAILED",
    `git did not create a worktree in ${path}`,
    "check that folder, then retry the thread",
  );

const noRepository = (folder: string, problem: string, cause: WorkflowError): WorkflowError =>
  failure(
    "NO_REPOSITORY",
    `a worktree needs a git repository, but ${JSON.stringify(folder)} ${problem}`,
    "start the thread in a repository, or set the worktree's `repository` to its current path",
    { cause },
  );

export const folderMissing = (folder: string, cause: WorkflowError): WorkflowError =>
  noRepository(folder, "does not exist", cause);

export const othersRepository = (folder: string, cause: WorkflowError): WorkflowError =>
  noRepository(folder, "belongs to another user", cause);

export const notInRepository = (folder: string, cause: WorkflowError): WorkflowError =>
  noRepository(folder, "is not in one", cause);

export const noCommitYet = (gitDir: string): WorkflowError =>
  failure(
    "NO_COMMIT_YET",
    `no commit found in the repository ${gitDir}: a worktree starts from a commit`,
    "create a commit: git commit --allow-empty",
  );

export const noSuchCommit = (gitDir: string, name: string): WorkflowError =>
  failure(
    "NO_SUCH_COMMIT",
    `no commit ${JSON.stringify(name)} found in the repository ${gitDir}`,
    "list the branches: git branch --all",
  );
