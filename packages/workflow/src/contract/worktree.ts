import type { RoleOutput } from "./contract.ts";
import { isRecord } from "./show.ts";

/**
 * Meta of a step under the key `worktree`, where its role worked in a git worktree of the thread's. `name` is which of
 * them, `repository` the repository's git directory, `branch` the ref that a person names it by. `commit` has the files
 * as the step left them, `tree` is git's hash of these files, and `base` the commit that the step began with.
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

/** The worktree that a step's meta names; null without one, and for what can't be one: meta may be a model's. */
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
 * The settings that git has for a thread's worktrees, whatever the user's are: no hook and no other program of theirs
 * runs, nothing is signed, files keep their bytes, and what is written survives a loss of power.
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

/** The variables that git has for them: it reaches no other repository, and asks nobody. */
export const gitVariables: Readonly<Record<string, string>> = {
  // A repository decides by its settings which program reaches a remote: none is reached.
  GIT_ALLOW_PROTOCOL: "none",
  GIT_NO_LAZY_FETCH: "1",
  GIT_TERMINAL_PROMPT: "0",
  GIT_OPTIONAL_LOCKS: "0",
};

/** The ref of a thread's worktree, and with a commit the one that keeps that commit. */
export const worktreeRef = (threadId: string, tree: string, commit?: string): string =>
  `refs/uncaged/${threadId}/${tree}${commit === undefined ? "" : `.${commit}`}`;
