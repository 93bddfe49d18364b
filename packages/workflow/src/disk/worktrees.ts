/*
 * Owns: the folder `worktrees/<threadId>/` of a thread that works in git worktrees, and the files in it that a host
 * reads: the notes `<name>.json`, which name the repository of the worktree `<name>/`, and `.commits.json`, the commits
 * in a fork's copied steps. Does not own: the content of a worktree, and the other fields of a note (workflow-agents).
 */
import { join } from "node:path";
import type { Step } from "../contract/contract.ts";
import { isRecord } from "../contract/show.ts";
import { worktreeIn, type WorktreeMeta } from "../contract/worktree.ts";
import { makeFolder, readOwnFile, writeFileAtomic } from "./files.ts";
import { namesIn, type Root } from "./paths.ts";
import { isThreadId } from "../contract/names.ts";

/** Path of the folder of a thread's worktrees. It exists once the thread has a worktree. */
export const worktreesDir = (root: Root, threadId: string): string =>
  join(root, "worktrees", threadId);

/** Lists the threads with a folder of worktrees, including removed threads, unordered. */
export const worktreeThreads = (root: Root): string[] =>
  namesIn(join(root, "worktrees")).filter(isThreadId);

const copiedName = ".commits.json";
const ending = ".json";
const mostBytes = 16 * 1024 * 1024;

/** Collects the commits of a fork's copied steps, which must survive the removal of the source thread. */
export class CopiedCommits {
  readonly #commits = new Map<string, WorktreeMeta>();

  /** Adds the commit of a copied step, if it has one. */
  add(step: Step): void {
    const worktree = worktreeIn(step);
    if (worktree) this.#commits.set(worktree.commit, worktree);
  }

  /** Writes the collected commits for the fork; durable on return. */
  note(root: Root, threadId: string): void {
    if (this.#commits.size === 0) return;
    const folder = worktreesDir(root, threadId);
    makeFolder(folder);
    writeFileAtomic(join(folder, copiedName), `${JSON.stringify([...this.#commits.values()])}\n`);
  }
}

/** Returns the commits in a thread's copied steps. */
export function copiedCommits(root: Root, threadId: string): WorktreeMeta[] {
  const found = jsonIn(join(worktreesDir(root, threadId), copiedName));
  if (!Array.isArray(found)) return [];
  return found.flatMap((one: unknown) => worktreeIn({ meta: { worktree: one } }) ?? []);
}

/** Returns the worktrees of a thread, each with its path and the git directory of its repository. */
export function notedWorktrees(
  root: Root,
  threadId: string,
): { path: string; repository: string }[] {
  const folder = worktreesDir(root, threadId);
  return namesIn(folder).flatMap((name) => {
    if (!name.endsWith(ending) || name.startsWith(".")) return [];
    const note = jsonIn(join(folder, name));
    const repository = isRecord(note) ? note.repository : null;
    if (typeof repository !== "string") return [];
    return [{ path: join(folder, name.slice(0, -ending.length)), repository }];
  });
}

function jsonIn(path: string): unknown {
  try {
    const bytes = readOwnFile(path, mostBytes);
    return bytes && (JSON.parse(new TextDecoder().decode(bytes)) as unknown);
  } catch {
    // A crash may leave a partial file, which does not name a repository.
    return null;
  }
}
