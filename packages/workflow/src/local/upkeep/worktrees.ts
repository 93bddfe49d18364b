/*
 * Owns: the files of a thread's git worktrees in the storage root and in repositories, and their removal with the
 * thread. Does not own: a role's work in a worktree (workflow-agents).
 *
 * T1 In a repository, only the thread's own data changes: its refs, `refs/uncaged/<threadId>/`, and the entries of
 *    worktrees in the thread's folder.
 * T2 A commit named by a fork's copied steps gets a ref of the fork before the source's ref is deleted.
 * T3 A failed removal keeps the thread's folder, so that a later `gc` finds it.
 */
import { dirname, join, resolve } from "node:path";
import { worktreeRef } from "../../contract/worktree.ts";
import { readOwnFile } from "../../disk/files.ts";
import { namesIn, type Root } from "../../disk/paths.ts";
import { isThreadId } from "../../contract/names.ts";
import {
  copiedCommits,
  notedWorktrees,
  worktreesDir,
  worktreeThreads,
} from "../../disk/worktrees.ts";
import { system } from "../../system/system.ts";
import { threadWithId } from "../../disk/threads.ts";
import { trashedThreads } from "../../disk/trash.ts";
import { git } from "./git.ts";
import { worktreeLocked, worktreeRefsKept } from "../errors.ts";

type Noted = ReturnType<typeof notedWorktrees>[number];

/**
 * Checks that the user has not locked a worktree of the thread (`git worktree lock`).
 * @throws WorkflowError `WORKTREE_LOCKED`
 */
export function checkUnlocked(root: Root, threadId: string): void {
  const locked = notedWorktrees(root, threadId).find(isLocked);
  if (!locked) return;
  throw worktreeLocked(locked, threadId);
}

// Git locks a worktree during creation, and leaves the lock if it is killed.
const isLocked = (noted: Noted): boolean => {
  const entry = entryOf(noted);
  const reason = entry && textIn(join(entry, "locked"));
  return typeof reason === "string" && reason.trim() !== "initializing";
};

/** Git's entry of a worktree: a folder in the repository, or null. */
function entryOf({ path, repository }: Noted): string | null {
  const entries = join(repository, "worktrees");
  for (const name of namesIn(entries)) {
    const entry = join(entries, name);
    const link = textIn(join(entry, "gitdir"));
    if (link !== null && resolve(entry, link.trimEnd()) === join(path, ".git")) return entry;
  }
  return null;
}

function textIn(path: string): string | null {
  try {
    const bytes = readOwnFile(path, 64 * 1024);
    return bytes && new TextDecoder().decode(bytes);
  } catch {
    return null;
  }
}

/**
 * Removes the worktrees and refs of a removed thread. Skips repositories that were moved or deleted.
 * @throws WorkflowError `WORKTREE_NOT_REMOVED`; the folder of the thread's worktrees then stays.
 */
export async function removeWorktrees(root: Root, threadId: string): Promise<void> {
  const folder = worktreesDir(root, threadId);
  if (!system.files.exists(folder)) return;
  const noted = notedWorktrees(root, threadId);
  const copied = copiedCommits(root, threadId).map(({ repository }) => repository);
  const repositories = new Set([...noted.map(({ repository }) => repository), ...copied]);
  // First run the step that may fail.
  for (const repository of repositories) {
    if (system.files.exists(join(repository, "objects"))) {
      await removeRefs(root, threadId, repository);
    }
  }
  for (const one of noted) {
    system.files.removeTree(one.path);
    const entry = entryOf(one);
    if (entry) system.files.removeTree(entry);
    if (entry) removeEmpty(dirname(entry));
  }
  system.files.removeTree(folder);
}

/** Removes the empty folder of a repository's worktrees, as git does. */
function removeEmpty(entries: string): void {
  if (namesIn(entries).length === 0) system.files.removeFolder(entries);
}

async function removeRefs(root: Root, threadId: string, repository: string): Promise<void> {
  const format = "%(objectname) %(refname)";
  const listed = await ask(repository, ["for-each-ref", `--format=${format}`, refsOf(threadId)]);
  const refs = listed.split("\n").flatMap((line) => {
    const [commit, ref] = line.split(" ");
    return commit && ref ? [{ commit, ref }] : [];
  });
  if (refs.length === 0) return;
  const held = new Set(refs.map(({ commit }) => commit));
  const kept = worktreeThreads(root)
    .filter((other) => other !== threadId)
    .flatMap((other) => copiedCommits(root, other).map((one) => ({ ...one, other })))
    .filter((one) => one.repository === repository && held.has(one.commit))
    .map(({ name, commit, other }) => `update ${worktreeRef(other, name, commit)} ${commit}`);
  const removed = refs.map(({ ref }) => `delete ${ref}`);
  await ask(repository, ["update-ref", "--stdin"], `${[...kept, ...removed].join("\n")}\n`);
}

const refsOf = (threadId: string) => `${dirname(worktreeRef(threadId, "any"))}/`;

/** Runs git and returns its output. @throws WorkflowError `WORKTREE_NOT_REMOVED`. */
async function ask(repository: string, args: readonly string[], input = ""): Promise<string> {
  const answer = await git(repository, args, input);
  if ("output" in answer) return answer.output;
  throw worktreeRefsKept(repository, answer.problem);
}

/** Returns removed threads whose worktrees still exist and are unchanged since a time (milliseconds). */
export const leftWorktrees = (root: Root, before: number): string[] =>
  worktreeThreads(root).filter((threadId) => {
    const found = system.files.statLink(worktreesDir(root, threadId));
    const isOld = found !== null && found.mtimeMs < before;
    if (!isOld || !isThreadId(threadId) || threadWithId(root, threadId) !== null) return false;
    return trashedThreads(root).every((trashed) => trashed.threadId !== threadId);
  });
