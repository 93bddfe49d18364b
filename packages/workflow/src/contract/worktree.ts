import type { RoleOutput } from "./contract.ts";
import { isRecord } from "./show.ts";

/**
 * Meta under the key `worktree` of a step whose role worked in a git worktree of the thread. `name` identifies the
 * worktree, `repository` is the repository's git directory, `branch` is the ref for people. `commit` contains the files
 * after the step, `tree` is git's hash of these files, and `base` the commit before the step.
 */
export type WorktreeMeta = {
  name: string;
  repository: string;
  branch: string;
  base: string;
  commit: string;
  tree: string;
};

const object = /^([0-9a-f]{40}|[0-9a-f]{64})$/;
const name = /^[A-Za-z0-9_-][A-Za-z0-9_@-]*$/;

/** Returns the worktree in a step's meta; null if it is missing or invalid: meta may come from a model. */
export function worktreeIn({ meta }: Pick<RoleOutput, "meta">): WorktreeMeta | null {
  const { worktree } = meta;
  if (!isRecord(worktree)) return null;
  const found = worktree as WorktreeMeta;
  const { repository, branch } = found;
  const objects: unknown[] = [found.base, found.commit, found.tree];
  const areObjects = objects.every((id) => typeof id === "string" && object.test(id));
  const isNamed = typeof found.name === "string" && name.test(found.name);
  const isPlaced = typeof repository === "string" && repository.startsWith("/");
  return areObjects && isNamed && isPlaced && typeof branch === "string" ? found : null;
}

/**
 * Git settings for a thread's worktrees. They override the user's settings: git does not run hooks or other programs,
 * does not sign commits, keeps the bytes of files, and syncs its writes.
 */
export const gitSettings: readonly string[] = [
  ...["-c", "core.hooksPath=/dev/null"],
  ...["-c", "core.fsmonitor=false"],
  ...["-c", "core.autocrlf=false"],
  ...["-c", "core.safecrlf=false"],
  ...["-c", "core.fsync=all"],
  ...["-c", "core.fsyncMethod=batch"],
  ...["-c", "commit.gpgSign=false"],
  ...["-c", "gc.auto=0"],
  ...["-c", "maintenance.auto=false"],
  ...["-c", "rerere.enabled=false"],
  ...["-c", "submodule.recurse=false"],
  ...["-c", "worktree.useRelativePaths=false"],
];

/** Git variables for a thread's worktrees: git can't reach other repositories and never prompts. */
export const gitVariables: Readonly<Record<string, string>> = {
  // Disallow all protocols: a repository's settings choose the program that connects to a remote.
  GIT_ALLOW_PROTOCOL: "none",
  GIT_NO_LAZY_FETCH: "1",
  GIT_TERMINAL_PROMPT: "0",
  GIT_OPTIONAL_LOCKS: "0",
};

/** Returns the ref of a thread's worktree, or with `commit` the ref that keeps that commit. */
export const worktreeRef = (threadId: string, tree: string, commit?: string): string =>
  `refs/uncaged/${threadId}/${tree}${commit === undefined ? "" : `.${commit}`}`;
